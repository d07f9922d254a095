/** The theme (light, dark, or the system's), which this browser stores. */
import { useEffect, useState } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "palimpsest:theme";

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system",
  );
  useEffect(() => {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  return [theme, setTheme];
}
