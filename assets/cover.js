// The rules of a style that cover parts of the page with a calm surface that says why.
const covering = (selectors, says) => selectors.flatMap((part) => [
  `${part} { position: relative; user-select: none; }`,
  `${part} > * { opacity: 0 !important; transition: none !important; pointer-events: none; }`,
  `${part}::after { content: ${JSON.stringify(says)}; position: absolute; inset: 0; z-index: 1; display: grid; place-items: center; padding: 0 1rem; text-align: center; border-radius: 0.4rem; background: color-mix(in srgb, var(--figure) 7%, transparent); }`,
]);
