import type { Resource, TwilioApi } from './api.ts'
import { fieldOf } from './outcome.ts'

const PAGE_SIZE = 500
const PAGES_MAX = 10

/** No further page is asked for after it: with the longest call on top, an answer stays within 20 seconds. */
const PAGING_MS = 4_000

/** What a list had: all that there is where `whole`, else as much as was read within bounds. */
export interface Listed {
  resources: unknown[]
  whole: boolean
}

/** Reads a list, page by page, the newest first. */
export async function readResources(
  api: TwilioApi,
  resource: Resource,
  filter: Readonly<Record<string, string>>,
): Promise<Listed> {
  const began = performance.now()
  const resources: unknown[] = []
  const query = new URLSearchParams({ ...filter, PageSize: String(PAGE_SIZE) })
  let path: string | null = `/${resource}.json?${query}`
  for (let page = 0; path !== null; page++) {
    if (page === PAGES_MAX || performance.now() - began > PAGING_MS) break
    const answer = await api.read(path)
    const listed =
      answer.type === 'answered' && answer.status === 200
        ? fieldOf(answer.json, resource.toLowerCase())
        : null
    if (answer.type !== 'answered' || !Array.isArray(listed)) return { resources, whole: false }
    resources.push(...listed)
    const next = fieldOf(answer.json, 'next_page_uri')
    if (next === null || next === undefined || next === '') return { resources, whole: true }
    path = typeof next === 'string' ? api.pathOf(next) : null
  }
  return { resources, whole: false }
}
