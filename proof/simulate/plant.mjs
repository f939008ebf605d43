// Loaded before tsx: replaces texts of modules in memory. `SVC_PLANTED` has the changes as JSON; `planted.ts` writes it.

import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

/** @type {{ file: string, find: string, replace: string }[]} */
let changes = []

// Node runs the hooks in a thread of their own, which loads this module again.
if (isMainThread) {
  register(import.meta.url, { data: JSON.parse(process.env.SVC_PLANTED ?? '[]') })
}

export function initialize(data) {
  changes = data
}

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  const own = changes.filter(({ file }) => url.split('?')[0].endsWith(`/${file}`))
  if (own.length === 0 || !loaded.source) return loaded
  let source = String(loaded.source)
  for (const { find, replace } of own) source = source.replace(find, () => replace)
  return { ...loaded, source: `${source}\nconsole.log('planted ${own[0].file}')\n` }
}
