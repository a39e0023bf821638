// Elements are made from text only: names of the model never become markup.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const LONGEST = 160;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function button(label, action, attributes, ...children) {
  return make("button", { type: "button", ...attributes, on: { click: action } }, label, ...children);
}

// A name with control and direction characters escaped, and shortened in the middle.
function shown(name, longest = LONGEST) {
  const escaped = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
  const characters = escaped.length > longest ? [...escaped] : [];
  if (characters.length <= longest) return escaped;
  const half = Math.floor((longest - 1) / 2);
  return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}

// The name in an element of its own direction, so that it cannot reorder the text around it.
function nameElement(name, longest) {
  return make("bdi", { class: "name" }, shown(name, longest));
}

function counted(number, noun) {
  return `${digits(number)} ${noun}${number === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
}

// A number with narrow spaces between groups of three digits.
function digits(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

function scaled(number, base, units) {
  let value = Number(number);
  let unit = 0;
  while (Math.abs(value) >= base * 0.9995 && unit < units.length - 1) {
    value /= base;
    unit += 1;
  }
  const text = unit === 0 || value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
  return `${text} ${units[unit]}`.trim();
}

const bytes = (number) => scaled(number, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const amount = (number) => scaled(number, 1000, ["", "k", "M", "G", "T", "P", "E"]);
