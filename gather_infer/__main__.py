"""`python -m gather_infer`, the same as `gather-infer`."""

from gather_infer_cli.main import main

if __name__ == "__main__":
    main()
