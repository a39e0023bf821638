"""Entry point of `python -m gather_infer`, the same as `gather-infer`."""

try:
    from gather_infer_cli.start import main
except KeyboardInterrupt:  # during the import
    import sys

    sys.stderr.write("error: interrupted\n")
    raise SystemExit(130) from None

if __name__ == "__main__":
    main()
