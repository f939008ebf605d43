import type {
  Provider,
  ProviderTemplate,
  TemplateList,
  Traits,
} from '../contract/outside/provider.ts'
import type { WhatsappContent } from '../contract/resources/content.ts'
import type { TemplateApproval } from '../contract/resources/templates.ts'
import type { Awaitable } from '../runtime/awaitable.ts'
import type { Log } from '../runtime/runtime.ts'
import type { Carriers } from './carriers.ts'

type TemplateContent = NonNullable<WhatsappContent['template']>

/** Which templates of WhatsApp the providers approved. */
export interface ApprovedTemplates {
  /**
   * Why no provider that may get the message has approved the template; null if one has, or if this is not known: a provider lists no templates,
   * cannot be asked now, or has the template in its settings. Waits only if the template is not in a list that was read in the last minute, at
   * most until five seconds after the reading began, and never after a reading that failed.
   */
  fault(sender: string | undefined, template: TemplateContent): Awaitable<string | null>
  /** What the providers say about a template, from any sender. `refresh`: they are asked again, at most once a minute. */
  stateOf(template: TemplateContent, options: { refresh: boolean }): Promise<TemplateApproval>
}

/** A list is read again after this time, while messages are sent by it: so long a paused template may still be charged. */
const REFRESH_MS = 10 * 60_000

/** An older list is not used. */
const KEPT_MS = 60 * 60_000

/** The minimum time between two readings of a list, also after a failure. */
const ASK_EVERY_MS = 60_000

/** Requests wait for a reading until this time after its beginning. */
const WAIT_MS = 5_000

type Listed = Extract<TemplateList, { type: 'listed' }>

interface Known {
  /** The templates by name and language. Null before the first reading. */
  templates: ReadonlyMap<string, ProviderTemplate> | null
  ids: Listed['ids']
  aliases: Listed['aliases']
  advice: Listed['advice']
  read_at_ms: number
  read_at: Date | null
  asked_at_ms: number
  asking: Promise<void> | null
  /** Why the last reading failed; null if it did not. */
  fault: string | null
}

export function createApprovedTemplates({
  carriers,
  open,
  elapsed,
  now,
  log,
}: {
  carriers: Pick<Carriers, 'of' | 'traits'>
  open: (provider: string) => Promise<Pick<Provider, 'templates'>>
  elapsed: () => number
  now: () => Date
  log: Pick<Log, 'warn'>
}): ApprovedTemplates {
  const lists = new Map<string, Known>()

  function listOf(provider: string): Known {
    const known = lists.get(provider) ?? newList()
    lists.set(provider, known)
    return known
  }

  async function read(provider: string, known: Known): Promise<void> {
    known.asked_at_ms = elapsed()
    const found = await open(provider)
      .then((opened) => opened.templates?.() ?? NO_LIST)
      .catch((error: unknown): TemplateList => ({ type: 'unavailable', reason: String(error) }))
    if (found.type === 'unavailable') {
      const { reason } = found
      if (known.fault === null) log.warn({ provider, reason }, UNCHECKED)
      known.fault = reason
      return
    }
    known.fault = null
    known.read_at_ms = elapsed()
    known.read_at = now()
    known.ids = found.ids
    known.aliases = found.aliases
    known.advice = found.advice
    known.templates = new Map(found.templates.map((one) => [keyOf(one), one]))
  }

  function ask(provider: string): Promise<void> {
    const known = listOf(provider)
    known.asking ??= read(provider, known).finally(() => {
      known.asking = null
    })
    return known.asking
  }

  /** Resolves when the providers have answered, or `WAIT_MS` after they were asked. */
  async function asked(providers: readonly string[]): Promise<void> {
    await Promise.all(
      providers.map(async (one) => {
        const reading = ask(one)
        const rest_ms = WAIT_MS - (elapsed() - listOf(one).asked_at_ms)
        if (rest_ms > 0) await within(rest_ms, reading)
      }),
    )
  }

  const mayAsk = (provider: string) => {
    const { asking, asked_at_ms } = listOf(provider)
    return asking !== null || elapsed() - asked_at_ms >= ASK_EVERY_MS
  }

  /** The template at a provider, `none` if it is not listed, and null if nothing is known. */
  function foundAt(provider: string, template: TemplateContent): ProviderTemplate | 'none' | null {
    const { templates, ids, aliases = {}, read_at_ms, fault } = listOf(provider)
    const age_ms = elapsed() - read_at_ms
    if (!templates || age_ms > KEPT_MS) return null
    const { id } = template
    const meant = id === undefined ? undefined : own(ids, id)
    const { name = meant?.name, language = meant?.language } = template
    const alias = own(aliases, id ?? `${name}:${language}`) ?? own(aliases, id ?? `${name}`)
    const known = name === undefined || language === undefined ? null : { name, language }
    const key = alias ?? known
    const found = key === null ? undefined : templates.get(keyOf(key))
    // After a failed reading, a template that was not approved may have been approved since.
    return found?.is_approved || fault === null ? (found ?? NOT_LISTED) : null
  }

  /** The status of the template: '' for an approved one, `none` for one that is not listed; null if nothing is known. */
  function statusAt(provider: string, template: TemplateContent): string | null {
    const found = foundAt(provider, template)
    if (found === null || found === NOT_LISTED) return found
    if (!found.is_approved) return found.status
    const isOld = elapsed() - listOf(provider).read_at_ms > REFRESH_MS
    if (isOld && mayAsk(provider)) void ask(provider)
    return ''
  }

  /**
   * The providers that may get a message and list their templates. Null if the template cannot be refused: no provider may get the
   * message, one of them lists no templates, or one has the template in its settings.
   */
  function listingFor(sender: string | undefined, template: TemplateContent): string[] | null {
    const message = { channel: 'whatsapp', livemode: true, sender: sender ?? null } as const
    const all = carriers.of(message).map(({ provider }) => provider)
    const listing: string[] = []
    for (const provider of all) {
      const { known_templates, lists_templates } = carriers.traits.get(provider) ?? {}
      if (known_templates && !isKnown(known_templates, template)) continue
      if (!lists_templates) return null
      listing.push(provider)
    }
    return all.length > 0 ? listing : null
  }

  return {
    fault(sender, template) {
      const all = listingFor(sender, template)
      if (all === null) return null
      const decide = () => {
        const statuses = all.map((one) => statusAt(one, template))
        if (statuses.some((status) => status === null || status === '')) return null
        const known = statuses.findIndex((status) => status !== NOT_LISTED)
        const advice = all[known] === undefined ? undefined : listOf(all[known]).advice
        return faultText(template, statuses[known] ?? null, advice)
      }
      if (all.some((one) => statusAt(one, template) === '')) return null
      const askable = all.filter(mayAsk)
      // A provider that cannot be asked costs messages no time: they are accepted until it answers.
      const awaited = askable.filter((one) => listOf(one).fault === null)
      for (const one of askable) void ask(one)
      return awaited.length === 0 ? decide() : asked(awaited).then(decide)
    },
    async stateOf(template, { refresh }) {
      const all = listingFor(undefined, template)
      if (all === null) return UNKNOWN
      const isNeeded = (one: string) => refresh || foundAt(one, template) === null
      const askable = all.filter((one) => isNeeded(one) && mayAsk(one))
      await asked(askable)
      const found = all.map((one) => foundAt(one, template))
      const read = all.flatMap((one) => listOf(one).read_at ?? [])
      const oldest = read.toSorted((a, b) => a.getTime() - b.getTime())[0]
      return { ...approvalOf(found), checked_at: oldest ?? null }
    },
  }
}

/** What providers together say: one that has approved a template can send it. */
function approvalOf(
  found: readonly (ProviderTemplate | 'none' | null)[],
): Omit<TemplateApproval, 'checked_at'> {
  const listed = found.filter((one) => one !== null && one !== NOT_LISTED)
  const best = listed.find((one) => one.is_approved) ?? listed.find((one) => one.is_pending)
  if (!best?.is_approved && found.includes(null)) {
    return { state: 'unavailable', status: null, reason: null }
  }
  const shown = best ?? listed[0]
  if (!shown) return { state: 'missing', status: null, reason: null }
  const { is_approved, is_pending = false, status, reason = null } = shown
  const state = is_approved ? 'approved' : is_pending ? 'pending' : 'refused'
  return { state, status, reason }
}

const UNKNOWN: TemplateApproval = {
  ...{ state: 'unchecked', status: null, reason: null },
  checked_at: null,
}

/** Whether the settings of a provider have a template. Placeholders in names are not filled in, so a name with them is no template. */
function isKnown(
  { names, id_form }: NonNullable<Traits['known_templates']>,
  { name, id, language }: TemplateContent,
): boolean {
  if (id !== undefined) return id_form.test(id)
  return names.includes(`${name}:${language}`) || names.includes(`${name}`)
}

const UNCHECKED =
  'the approved templates of WhatsApp could not be read: messages are accepted without this check'
const NO_LIST: TemplateList = { type: 'unavailable', reason: 'The provider lists no templates' }
const NOT_LISTED = 'none'

function newList(): Known {
  return {
    templates: null,
    ids: {},
    aliases: {},
    advice: undefined,
    read_at: null,
    read_at_ms: Number.NEGATIVE_INFINITY,
    asked_at_ms: Number.NEGATIVE_INFINITY,
    asking: null,
    fault: null,
  }
}

function own<T>(all: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined
}

function keyOf({ name, language }: { name: string; language: string }): string {
  return JSON.stringify([name, language])
}

/** `status`: null if no provider lists the template. */
function faultText(
  { name, id, language }: TemplateContent,
  status: string | null,
  advice: string | undefined,
): string {
  const what = `WhatsApp template ${name ?? id}${language === undefined ? '' : ` (${language})`}`
  if (status === null) return `No provider has approved the ${what}`
  const text = `The ${what} has the status ${status}: only approved templates can be sent`
  return advice === undefined ? text : `${text}. ${advice}`
}

/** Resolves with the work, at the latest after `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}
