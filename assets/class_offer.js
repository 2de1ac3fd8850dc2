// What the present page has to ask, for the lecturer's bar.
export default function ({ data }) {
  document.mlaOffer = data.offer;
  document.mlaClass?.draw();
  return () => {
    document.mlaOffer = null;
    document.mlaClass?.draw();
  };
}
