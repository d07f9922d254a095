/** Moves the focus to an element that just opened, and back when it closes. */
import { useEffect, useRef, type RefObject } from "react";

/**
 * Returns a ref for the element that has the focus while its part of the page is open. On close, the focus returns to the element that had
 * it before. If that is gone or there was none, the focus goes to the element that `fallback` selects. A focus that moved elsewhere
 * meanwhile stays there.
 */
export function useBorrowedFocus<E extends HTMLElement>(fallback: string): RefObject<E | null> {
  const opened = useRef<E>(null);
  useEffect(() => {
    const opener = document.activeElement;
    opened.current?.focus();
    return () => {
      // The focused element was removed with the closed part, and the browser then focuses the body.
      if (document.activeElement !== document.body) return;
      const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
      const back = isThere ? opener : document.querySelector<HTMLElement>(fallback);
      back?.focus();
    };
  }, [fallback]);
  return opened;
}
