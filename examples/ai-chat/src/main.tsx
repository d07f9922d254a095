import { StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { Conversation } from "./conversation.tsx";

const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no #root.");

// A conversation per address: /#room
const room = location.hash.slice(1) || "room";

createRoot(root).render(
  <StrictMode>
    <Suspense fallback={<p className="loading">Loading the conversation…</p>}>
      <Conversation room={room} />
    </Suspense>
  </StrictMode>,
);
