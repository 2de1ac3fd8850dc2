// The number of the run that has drawn the page to its end: assets/wish.js waits for it.
export default function ({ data }) {
  document.mlaDrawn = data;
}
