import "./styles/main.css";
import { start as startApp } from "./app";
import { Data } from "./data/store";
import { restoreTheme } from "./theme";

restoreTheme();
const root = document.getElementById("app")!;
Data.open().then(
  (data) => startApp(root, data),
  (error: unknown) => {
    root.textContent = `This page can't be read: ${String(error)}. It needs a browser of 2023 or later; mlirdev show has the same in the terminal.`;
  },
);
