import { readFile } from 'node:fs/promises'
import { packageFile } from '../pages/page.ts'
import { escapeHtml } from '../pages/plain-page.ts'
import type { ConsoleFacts } from './console-answers.ts'

/** The files of the built console. */
export interface Bundle {
  /** The script with which the console begins, and the files that its first page needs. */
  main: string
  styles: string
  /** The styles of dark colours, and the script that chooses them before the page is painted. */
  dark: string
  theme: string
  icon: string
  /** All files, by name, with their sizes in bytes. Beside each is its compressed form, with `.br` behind the name. */
  files: Record<
    string,
    {
      bytes: number
      brotli_bytes: number
      is_initial: boolean
      /** Whether only the pages of operators need it. */
      is_operators: boolean
      is_language: boolean
    }
  >
}

/** The folder of the built console in this package. */
export const BUNDLE_FOLDER = packageFile('@svc/server', 'dist/console')

/** Reads the list of the console's files; null if the package was not built. */
export async function readBundle(folder: string): Promise<Bundle | null> {
  try {
    return JSON.parse(await readFile(`${folder}/bundle.json`, 'utf8')) as Bundle
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return null
    throw error
  }
}

/**
 * The page of the console for a path in the app. Its links are relative, so that the page works below any prefix that a host
 * or a proxy adds. `base`: the path of the console in the app.
 */
export function indexHtml(
  { main, styles, dark, theme, icon }: Bundle,
  { facts, base, path }: { facts: ConsoleFacts; base: string; path: string },
): string {
  const depth = path.slice(base.length).split('/').length - 1
  const root =
    depth === 0 ? `.${base.slice(base.lastIndexOf('/'))}/` : `./${'../'.repeat(depth - 1)}`
  const url = (name: string) => `${root}assets/${name}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="svc-console" content="${escapeHtml(JSON.stringify(facts))}">
<title>${escapeHtml(facts.brand)}</title>
<link rel="icon" href="${url(icon)}">
<link rel="stylesheet" href="${url(styles)}">
<link rel="stylesheet" href="${url(dark)}" media="(prefers-color-scheme: dark)">
<script src="${url(theme)}"></script>
<script type="module" src="${url(main)}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`
}
