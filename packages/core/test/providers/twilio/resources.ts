import { randomBytes } from 'node:crypto'

/** A Message or a Call as the API shows it. */
export type Resource = Record<string, string | number | null>

/** A resource that the peer created: outcomes are compared with it. */
export interface Taken {
  kind: 'Messages' | 'Calls'
  resource: Resource
  /** The parameters of its creation. */
  form: URLSearchParams
}

export interface ResourceStore {
  all(): readonly Taken[]
  add(kind: Taken['kind'], form: URLSearchParams): Taken
  find(kind: Taken['kind'], sid: string): Taken | undefined
  /** A page of a list, as Twilio answers a GET with these parameters. */
  page(kind: Taken['kind'], path: string, query: URLSearchParams): object
}

const PREFIX = { Messages: 'SM', Calls: 'CA' } as const

/**
 * The resources of one account. A message has no `date_sent` until it leaves the queue, and a filter by date hides it
 * until then. Source: Twilio, Message resource.
 */
export function createResourceStore(account_sid: string, now: () => Date): ResourceStore {
  const taken: Taken[] = []
  return {
    all: () => taken,
    add(kind, form) {
      const one = { kind, form, resource: resourceOf(kind, form, account_sid, now()) }
      taken.push(one)
      return one
    },
    find: (kind, sid) => taken.find((one) => one.kind === kind && one.resource.sid === sid),
    page(kind, path, query) {
      const size = Math.min(Number(query.get('PageSize') ?? 50), 1_000)
      const page = Number(query.get('Page') ?? 0)
      const matching = taken
        .filter((one) => one.kind === kind && matchesQuery(one, query))
        .reverse()
      const shown = matching.slice(page * size, (page + 1) * size)
      const uriOf = (number: number) => {
        const other = new URLSearchParams(query)
        other.set('PageSize', String(size))
        other.set('Page', String(number))
        return `${path}?${other}`
      }
      return {
        [kind.toLowerCase()]: shown.map(({ resource }) => resource),
        page,
        page_size: size,
        start: page * size,
        end: page * size + Math.max(shown.length - 1, 0),
        uri: uriOf(page),
        first_page_uri: uriOf(0),
        previous_page_uri: page > 0 ? uriOf(page - 1) : null,
        next_page_uri: (page + 1) * size < matching.length ? uriOf(page + 1) : null,
      }
    },
  }
}

function matchesQuery({ resource, kind }: Taken, query: URLSearchParams): boolean {
  for (const [parameter, field] of [
    ['To', 'to'],
    ['From', 'from'],
  ] as const) {
    const value = query.get(parameter)
    if (value !== null && resource[field] !== value) return false
  }
  const [since, date] =
    kind === 'Messages'
      ? [query.get('DateSent>'), resource.date_sent]
      : [query.get('StartTime>'), resource.start_time]
  if (since === null) return true
  return typeof date === 'string' && Date.parse(date) >= Date.parse(since)
}

function resourceOf(
  kind: Taken['kind'],
  form: URLSearchParams,
  account_sid: string,
  at: Date,
): Resource {
  const sid = `${PREFIX[kind]}${randomBytes(16).toString('hex')}`
  const common = {
    sid,
    account_sid,
    api_version: '2010-04-01',
    // RFC 2822, whole seconds.
    date_created: at.toUTCString().replace('GMT', '+0000'),
    date_updated: at.toUTCString().replace('GMT', '+0000'),
    direction: 'outbound-api',
    from: form.get('From'),
    to: form.get('To'),
    price: null,
    price_unit: 'USD',
    uri: `/2010-04-01/Accounts/${account_sid}/${kind}/${sid}.json`,
  }
  if (kind === 'Calls') {
    return { ...common, status: 'queued', start_time: null, end_time: null, duration: null }
  }
  const service = form.get('MessagingServiceSid')
  return {
    ...common,
    // A service names the number later.
    status: service ? 'accepted' : 'queued',
    messaging_service_sid: service,
    body: form.get('ContentSid') ? 'A template, filled in' : (form.get('Body') ?? ''),
    num_media: String(form.getAll('MediaUrl').length),
    num_segments: service ? '0' : '1',
    date_sent: null,
    error_code: null,
    error_message: null,
  }
}
