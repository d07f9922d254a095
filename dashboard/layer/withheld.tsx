/** Explains why an overlay's text is not shown. */
import { Empty } from "../frame/states.tsx";

export function Withheld() {
  return (
    <Empty title="Its words are withheld.">
      Messages under it were edited or deleted after it was written, and what it says of them may say what was taken
      back. Those that are left, as they read now, are under “What lies beneath”.
    </Empty>
  );
}
