import { computed, signal } from '@preact/signals'
import { base } from './facts.ts'
import { instantOf } from './time-zone.ts'

interface Place {
  /** The path below the console, such as `/messages`. */
  path: string
  query: URLSearchParams
}

function currentPlace(): Place {
  const { pathname, search } = location
  const path = pathname.slice(base.length).replace(/\/$/, '') || '/'
  return { path, query: new URLSearchParams(search) }
}

const place = signal(currentPlace())

/** The path below the console, such as `/messages`. */
export const path = computed(() => place.value.path)

/** The query of the address. */
export const query = computed(() => place.value.query)

let hasReturned = false

/** Whether Back or Forward led to the page, and no link. */
export const isReturn = () => hasReturned

addEventListener('popstate', () => {
  hasReturned = true
  place.value = currentPlace()
})

/** The address of a page for a link: `to` is the path below the console, with or without a query. */
export function hrefOf(to: string): string {
  return base + (to === '/' ? '' : to)
}

/** The address of the service that the console belongs to, without a `/` at the end. */
export const root = location.origin + base.replace(/\/[^/]*$/, '')

/** Shows another page. `replace`: the current page does not stay in the history. */
export function go(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', hrefOf(to))
  else history.pushState(null, '', hrefOf(to))
  hasReturned = false
  const before = place.value.path
  place.value = currentPlace()
  if (place.value.path.split('/')[1] !== before.split('/')[1]) scrollTo(0, 0)
}

/**
 * Changes filters in the address, so that a reload and a copied link show the same. An empty value removes the filter. The
 * position of a list (`after`) belongs to the former filters, so it goes too unless it is given.
 */
export function setQuery(
  changes: Record<string, string | undefined>,
  { replace = true, to = path.value } = {},
): void {
  const next = new URLSearchParams(query.value)
  if (!('after' in changes)) next.delete('after')
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value)
    else next.delete(name)
  }
  const text = next.toString()
  go(to + (text && `?${text}`), { replace })
}

/** The values of the query that have one of these names, for a request. */
export function filtersOf(...names: string[]): Record<string, string> {
  return Object.fromEntries(
    [...query.value].filter(([name, value]) => value && names.includes(name)),
  )
}

/** The times of the filters `startDate` and `endDate`: days in the zone of `timeZone`, both included. */
export function timesOf({ startDate, endDate }: Record<string, string>): {
  startDate?: Date
  endDate?: Date
} {
  return {
    ...(startDate && { startDate: instantOf(`${startDate}T00:00`) }),
    ...(endDate && { endDate: instantOf(`${endDate}T23:59:59.999`) }),
  }
}

/** The parameters of a path for a pattern such as `/messages/:id?`; null if the path is another one. */
export function match(pattern: string, given: string): Record<string, string> | null {
  const names = pattern.split('/')
  const parts = given.split('/')
  if (parts.length > names.length) return null
  const params: Record<string, string> = {}
  for (const [i, name] of names.entries()) {
    const part = parts[i]
    if (!name.startsWith(':')) {
      if (name !== part) return null
    } else if (part === undefined || part === '') {
      if (!name.endsWith('?')) return null
    } else {
      params[name.replace(/[:?]/g, '')] = safeDecoded(part)
    }
  }
  return params
}

function safeDecoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Where a link leads below the console, with its query; null for a link to another place. */
export function placeOf(link: HTMLAnchorElement): string | null {
  const url = new URL(link.href)
  const isOurs = url.pathname === base || url.pathname.startsWith(`${base}/`)
  const below = url.pathname.slice(base.length)
  if (url.origin !== location.origin || !isOurs || /^\/(api|oidc)\//.test(below)) return null
  return (below || '/') + url.search
}

/** A click on a link of the console shows the page without a reload; other clicks keep their meaning in the browser. */
addEventListener('click', (event) => {
  const link = (event.target as Element | null)?.closest?.('a')
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey)
  if (!link || !isPlain || event.defaultPrevented || link.target || link.download) return
  const to = placeOf(link)
  if (to === null) return
  event.preventDefault()
  go(to)
})
