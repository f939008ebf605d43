import { PAGES } from '../pages.ts'
import { facts, script } from './facts.ts'
import type { PageEntry, PageModule } from './page.ts'
import { hrefOf, match, path, placeOf } from './router.ts'
import { may, store, stored } from './session.ts'
import { t } from './text.ts'

interface Found {
  entry: PageEntry
  params: Record<string, string>
}

/** The page at a path below the console; null for none. */
export function pageAt(path: string): Found | null {
  for (const entry of PAGES) {
    if (entry.dev && !facts.dev) continue
    const params = match(entry.path, path)
    if (params) return { entry, params }
  }
  return null
}

const known = new Map<PageEntry['page'], PageModule>()

/** The page, if its script is loaded. */
export function loadedPage({ page }: PageEntry): PageModule | undefined {
  return typeof page === 'function' ? known.get(page) : page
}

async function load({ page }: PageEntry): Promise<PageModule> {
  if (typeof page !== 'function') return page
  const found = known.get(page) ?? (await page())
  known.set(page, found)
  return found
}

/** The script for which this tab has loaded the document again. */
const STORED_SCRIPT = 'svc.script'

/**
 * Loads the script of a page that is opened. If the service was replaced meanwhile and has this script no more, the document is
 * loaded again, once; with `isRetry` also otherwise, because browsers keep the failure of a script. @throws Error
 */
export async function openPage(entry: PageEntry, isRetry = false): Promise<PageModule> {
  try {
    return await load(entry)
  } catch (cause) {
    const text = await currentDocument()
    const isReplaced = text && !text.includes(script) && stored(STORED_SCRIPT) !== script
    if (text && (isRetry || isReplaced)) {
      store(STORED_SCRIPT, script)
      location.reload()
      return new Promise(() => {})
    }
    const words = t('This page could not be loaded. Check the connection, then try again.')
    throw new Error(words, { cause })
  }
}

/** The document as the service has it now; empty if it does not answer. */
async function currentDocument(): Promise<string> {
  const answer = await fetch(hrefOf('/')).catch(() => null)
  return answer?.ok ? answer.text() : ''
}

/** Loads the script of a page before it is opened. */
async function prepare({ entry }: Found): Promise<void> {
  await load(entry).catch(() => {})
}

for (const name of ['pointerover', 'focusin']) {
  addEventListener(name, ({ target }) => {
    const link = (target as Element | null)?.closest?.('a')
    const to = link?.href ? placeOf(link) : null
    const found = to && pageAt(to.replace(/\?.*/, ''))
    if (found) void prepare(found)
  })
}

/** Safari has no `requestIdleCallback`. */
const whenIdle = globalThis.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 2_000))

let isPreparing = false

/**
 * Loads the scripts of all pages that the person may open, one after the other, when the browser is idle. Those of operators
 * are loaded when they are opened or pointed at, because few members are operators too.
 */
export function prepareAll(): void {
  const { connection } = navigator as { connection?: { saveData?: boolean } }
  if (isPreparing || connection?.saveData) return
  isPreparing = true
  whenIdle(async () => {
    for (const entry of PAGES) {
      if (entry.needs === 'operate') continue
      if (may(entry.needs) && (!entry.dev || facts.dev)) await prepare({ entry, params: {} })
    }
    isPreparing = false
  })
}

// The page of the address, at the same time as the session.
const first = pageAt(path.value)
if (first) void prepare(first)
