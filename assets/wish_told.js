// What the server has drawn, and what sends it a wish: for assets/wish.js, which may come later.
export default function ({ data, setStateValue }) {
  const send = (wish) => setStateValue("wish", wish);
  document.mlaTold = [data, send];
  document.mlaWishes?.hear(data, send);
  return () => {
    document.mlaTold = null;
    document.mlaWishes?.leave(send);
  };
}
