/** The focus, lent to what has just opened and given back when it closes. */
import { useEffect, useRef, type RefObject } from "react";

/**
 * For the element that has the focus while its part of the page is open. Closed, the focus goes back to what opened it; where
 * that is gone, or nothing did, to what `fallback` selects. Whoever moved on meanwhile is left where they are.
 */
export function useBorrowedFocus<E extends HTMLElement>(fallback: string): RefObject<E | null> {
  const opened = useRef<E>(null);
  useEffect(() => {
    const opener = document.activeElement;
    opened.current?.focus();
    return () => {
      // What had the focus went with what was closed: the browser then gives it to the body.
      if (document.activeElement !== document.body) return;
      const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
      const back = isThere ? opener : document.querySelector<HTMLElement>(fallback);
      back?.focus();
    };
  }, [fallback]);
  return opened;
}
