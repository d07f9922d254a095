/** A file's text, as the bundler of the tests gives it. */
declare module "*?raw" {
  const text: string;
  export default text;
}
