import { escapeHtml } from '../pages/plain-page.ts'
import type { Bundle } from './bundle.ts'
import type { ConsoleFacts } from './wire.ts'

/**
 * The page of the console for a path in the app. Its links are relative, so that the page works below any prefix that a host
 * or a proxy adds. `base`: the path of the console in the app.
 */
export function indexHtml(
  { main, styles, icon }: Bundle,
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
<script type="module" src="${url(main)}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`
}
