import { idOfSid, LIMITS, parseDateTime, readTwilioAddress, sidOf } from '@svc/core/contract'
import { TwilioError } from './errors.ts'
import { pathOf } from './message-record.ts'
import type { Given } from './parameters.ts'

/** The parameters of each list that name a page. */
export const PAGE_NAMES = ['PageSize', 'Page', 'PageToken'] as const

type PageName = (typeof PAGE_NAMES)[number]

/** Twilio's largest page. A larger page than that of the API is served in several pages. */
const PAGE_SIZE_MAX = 1000
const DAY_MS = 24 * 60 * 60 * 1000

/** A page of a list: after the item with the id `after`, or the first. */
export interface Page {
  size: number
  number: number
  after: string | undefined
}

/** A kind of list: the name of its items, its place below the account, and the parameters that its pages repeat. */
interface Listing<Filter extends string> {
  name: string
  place: string
  kind: 'message' | 'call' | 'phone_number'
  filters: readonly Filter[]
}

/** A page in Twilio's form. `next`: the last id of the page if another page follows. */
export function pageRecord<Filter extends string>(
  listing: Listing<Filter>,
  given: Given<Filter | PageName>,
  {
    workspace_id,
    page,
    records,
    length,
    next,
  }: {
    workspace_id: string
    page: Page
    records: readonly object[]
    /** The number of items of the page, including those that are not shown. */
    length: number
    next: string | null
  },
): object {
  const { size, number } = page
  const start = number * size
  const uri = (to: Pick<Page, 'number' | 'after'>) => {
    const query = new URLSearchParams()
    for (const name of listing.filters) {
      const value = given.filled(name)
      if (value !== undefined) query.set(name, value)
    }
    query.set('PageSize', String(size))
    query.set('Page', String(to.number))
    if (to.after !== undefined) query.set('PageToken', `PA${sidOf(listing.kind, to.after)}`)
    return `${pathOf(workspace_id, listing.place)}?${query}`
  }
  return {
    [listing.name]: records,
    page: number,
    page_size: size,
    start,
    end: start + Math.max(0, length - 1),
    uri: uri(page),
    first_page_uri: uri({ number: 0, after: undefined }),
    previous_page_uri: null,
    next_page_uri: next === null ? null : uri({ number: number + 1, after: next }),
  }
}

/** The page of a request. @throws TwilioError */
export function pageOf(given: Given<PageName>, kind: Listing<string>['kind']): Page {
  const size =
    wholeNumber(given, 'PageSize', { min: 1, max: PAGE_SIZE_MAX }) ?? LIMITS.page_size_default
  const number = wholeNumber(given, 'Page', { min: 0, max: 999_999_999 }) ?? 0
  const token = given.filled('PageToken')
  const id = token?.startsWith('PA') ? idOfSid(kind, token.slice('PA'.length)) : null
  if (token !== undefined && id === null) {
    throw new TwilioError('invalid_parameter', "'PageToken' is not valid")
  }
  if (number > 0 && id === null) {
    throw new TwilioError('invalid_parameter', "'Page' needs the 'PageToken' of next_page_uri")
  }
  return { size: Math.min(size, LIMITS.page_size_max), number, after: id ?? undefined }
}

function wholeNumber(
  given: Given<PageName>,
  name: 'PageSize' | 'Page',
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = given.filled(name)
  if (text === undefined) return undefined
  const n = /^\d{1,9}$/.test(text) ? Number(text) : -1
  if (n >= min && n <= max) return n
  throw new TwilioError('invalid_parameter', `'${name}' must be ${min} to ${max}`)
}

/** The address of a filter. An unescaped `+` of a query arrives as a space. */
export function addressOf<Name extends string>(given: Given<Name>, name: Name) {
  const text = given.filled(name)
  return text === undefined ? undefined : readTwilioAddress(text.replace(/(?<=^|:) (?=[1-9])/, '+'))
}

/** The times that the filters `name`, `name<` and `name>` allow. `name` is a day of UTC; `<` and `>` include their instant. */
export function timesOf<Name extends string>(
  given: Given<Name | `${Name}<` | `${Name}>`>,
  name: Name,
): { startDate: Date | undefined; endDate: Date | undefined } {
  const day = dateOf(given, name)
  const until = dateOf(given, `${name}<`)
  const from = dateOf(given, `${name}>`)
  if (!day) return { startDate: from, endDate: until }
  const start = Math.floor(day.getTime() / DAY_MS) * DAY_MS
  return {
    startDate: new Date(Math.max(start, from?.getTime() ?? start)),
    endDate: new Date(Math.min(start + DAY_MS - 1, until?.getTime() ?? Number.POSITIVE_INFINITY)),
  }
}

function dateOf<Name extends string>(given: Given<Name>, name: Name): Date | undefined {
  const text = given.filled(name)
  if (text === undefined) return undefined
  const date = parseDateTime(text)
  if (date) return date
  throw new TwilioError('invalid_parameter', `'${name}' must be a date in ISO 8601`)
}
