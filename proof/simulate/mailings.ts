import { ask, identityOf, newAsked, post, type Stage, sendCopies, untilAnswered } from './client.ts'
import { elapsedMs } from './clock.ts'
import { type Contact, createToggle, numberOf } from './model.ts'
import { optOutOf } from './outside.ts'
import { mixed } from './random.ts'
import type { Doing } from './script.ts'
import type { Core } from './world.ts'

/** The zones of contacts. The clocks of one are set back in the night of some seeds. */
const ZONES = ['Asia/Kathmandu', 'Pacific/Honolulu', 'Etc/UTC', 'Europe/Berlin'] as const

/** How far the clocks of a zone are ahead of UTC at an instant, in minutes. */
export function offsetMin(zone: string, at_ms: number): number {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(at_ms)) ?? []
  return sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes))
}

const CONTACTS = 14

/** The contacts of a workspace. Some have no number or no e-mail address, and some a zone. */
const contactOf = (place: number, i: number) => {
  const fate = mixed(place, i, 77) % 2_000_000
  const zone = ZONES[i % 5]
  return {
    name: `N${i}`,
    ...(i % 6 !== 5 && { phone: numberOf(fate) }),
    ...(i % 7 !== 6 && { email: `c${fate}@contacts.example` }),
    tags: ['all', i % 2 === 0 ? 'even' : 'odd'],
    attributes: { city: i % 3 === 0 ? 'Arusha' : 'Moshi', ...(zone && { time_zone: zone }) },
  }
}

/** The templates of each workspace. `mark` tells the versions of a template apart. */
const TEMPLATES = {
  news: (mark: number) => ({
    name: 'news',
    category: 'marketing' as const,
    default_locale: 'en',
    variants: [
      variant('sms', 'en', { text: `#${mark}# Hi {{name|you}} in {{city|town}}` }),
      variant('sms', 'de', { text: `#${mark}# Hallo {{name|du}}` }),
      variant('email', 'en', {
        subject: 'News',
        html: `<p>#${mark}# Hi {{name|you}} &amp; all</p><ul><li>{{city}}</li></ul><a href="{{unsubscribe_url}}">No more</a>`,
        layout: 'frame',
        preview_text: 'It is new',
        inline_css: false,
      }),
    ],
  }),
  receipt: (mark: number) => ({
    name: 'receipt',
    category: 'transactional' as const,
    default_locale: 'en',
    variables: [
      { name: 'order', type: 'text' as const },
      { name: 'gift', type: 'boolean' as const, fallback: false },
    ],
    variants: [
      variant('sms', 'en', {
        text: `#${mark}# Order {{order}}{{#if gift}}, a gift{{else}}, paid{{/if}}{{#each items}} {{title}}{{/each}}`,
      }),
      variant('email', 'en', {
        subject: 'Order {{order}}',
        html: `<h1>#${mark}#</h1>{{#if gift}}<p>A gift</p>{{/if}}<table>{{#each items}}<tr><td>{{title}}</td></tr>{{/each}}</table>`,
        layout: 'default',
        inline_css: false,
      }),
    ],
  }),
}
type TemplateName = keyof typeof TEMPLATES

/** A one-time code in a text of its own. It has no further versions. */
const LOGIN = {
  name: 'login',
  category: 'transactional' as const,
  default_locale: 'en',
  variants: [
    variant('sms', 'en', { text: '{{code}} is the code of {{brand}}, for {{minutes}} minutes' }),
    variant('email', 'en', { subject: '{{brand}}', text: 'Your code: {{code}}' }),
  ],
}

const FRAME = {
  name: 'frame',
  category: 'layout' as const,
  default_locale: 'en',
  variants: [variant('email', 'en', { html: '<html><body>{{content}}</body></html>' })],
}

function variant<C extends 'sms' | 'email'>(channel: C, locale: string, content: object) {
  return { channel, locale, content }
}

export const CATEGORIES: Readonly<Record<string, 'marketing' | 'transactional'>> = {
  news: 'marketing',
}

/** What ends the marketing messages of a workspace until its owner changes it. */
export const ENDED_PLACE = 0
export const ENDINGS = { sms_opt_out_text: 'STOP to end', postal_address: 'Acme, Main Street 1' }

const FIRST_MARK = 1000

/** What each workspace has when a seed begins. */
export async function prepareMailings(
  core: Core,
  { id, key, place }: { id: string; key: string; place: number },
): Promise<Contact[]> {
  const { templates, contacts } = core
  await templates.push(id, { templates: [FRAME] as never })
  const first = [TEMPLATES.news(FIRST_MARK), TEMPLATES.receipt(FIRST_MARK), LOGIN]
  await templates.push(id, { templates: first as never })
  const made: Contact[] = []
  for (let i = 0; i < CONTACTS; i++) {
    const fields = contactOf(place, i)
    const { phone, email, id: contact_id } = await contacts.create(id, fields as never)
    const zone = ZONES[i % 5] ?? null
    made.push({ id: contact_id, place, name: fields.name, phone, email, zone })
  }
  if (place === ENDED_PLACE) await core.workspaces.update(id, ENDINGS)
  // Loads what the zones of numbers need, which takes time of the machine.
  await core.broadcasts.preview(await identityOf(core, key), {
    channel: 'sms',
    template: { name: 'news' },
    audience: {},
    scheduled_at: '2026-11-01T09:00:00.000Z',
    time_zone: 'recipient',
    draft: false,
  } as never)
  return made
}

const VALUES = { order: 'A1', items: [{ title: 'Tea' }, { title: 'Rice' }] }

/** The use of a template; sometimes with another version or language, or without a value that it needs. */
function useOf({ name, version, fate }: { name: TemplateName; version: 1 | null; fate: number }) {
  const hasAll = name === 'news' || fate % 9 > 0
  return {
    name,
    ...(version !== null && { version }),
    ...(fate % 4 === 0 && { locale: 'de-AT' }),
    ...(name === 'receipt' && hasAll && { variables: { ...VALUES, gift: fate % 2 === 0 } }),
  }
}

/** A client sends from a template to a person, who may be a contact. */
export function sendTemplate(stage: Stage, step: Doing<'templated'>): void {
  const { channel, fate, workspace, name, version } = step
  const known = stage.model.contacts.filter((one) => one.place === workspace)
  const contact = fate % 2 === 0 ? known[fate % known.length] : undefined
  const own = channel === 'sms' ? numberOf(fate) : `r${fate}@recipients.example`
  const to = (channel === 'sms' ? contact?.phone : contact?.email) ?? own
  sendCopies(stage, step, { channel, to, template: useOf({ name, version, fate }) })
}

/** A bulk with placeholders, or from a template, to contacts and to numbers with values of their own. */
export function fillBulk(stage: Stage, step: Doing<'fill'>): void {
  const { workspace, fate, size, name } = step
  const known = stage.model.contacts.filter((one) => one.place === workspace)
  const recipients = Array.from({ length: size }, (_, i) => {
    const draw = mixed(fate, i)
    const contact_id = known[draw % known.length]?.id
    if (draw % 3 === 0) return { contact_id }
    const variables = { order: `A${i}`, name: draw % 2 === 0 ? null : 'Asha' }
    return { to: numberOf(draw % 2_000_000), variables }
  })
  const text = 'Hi {{name|you}}: {{order}}'
  const asked = newAsked(stage, { ...step, isTest: false }, 'bulk', {
    channel: 'sms',
    ...(name ? { template: useOf({ name, version: null, fate }) } : { content: { text } }),
    defaults: { order: 'A' },
    recipients,
    validation: fate % 3 === 0 ? 'strict' : 'permissive',
  })
  stage.model.asked.push(asked)
  void post(stage, asked)
}

/** An author publishes a new version, or an earlier one again. */
export async function publish(stage: Stage, step: Doing<'template'>): Promise<void> {
  const { world, model } = stage
  const { workspace, name, isRestored } = step
  const place = model.places[workspace]
  if (!place) return
  model.marks += 1
  const mark = isRestored ? FIRST_MARK : FIRST_MARK + model.marks
  const what = `${isRestored ? 'restore' : 'publish'} ${name} ${mark}`
  const answer = await ask(stage, what, async ({ templates }) => {
    if (isRestored) return (await templates.publish(place.id, name, { version: 1 })).version
    const request = { templates: [TEMPLATES[name](mark)] as never }
    return (await templates.push(place.id, request))[0]?.version
  })
  if (!answer || 'code' in answer) return
  world.trace(`${what}: version ${answer.value}`)
  const key = `${place.id} ${name} ${answer.value}`
  const known = model.published.get(key) ?? mark
  if (known !== mark) world.violate('a version never changes', `${what}: was ${known}`)
  model.published.set(key, mark)
}

/** A client creates a broadcast, and the same again if it is impatient. */
export function createBroadcast(stage: Stage, step: Doing<'broadcast'>): void {
  const { model } = stage
  const { workspace, channel, name, tags, rate, delay_s, fate } = step
  const scheduled_at = new Date(Date.now() + delay_s * 1000).toISOString()
  const body = {
    channel,
    template: useOf({ name, version: null, fate: name === 'receipt' ? 1 : fate }),
    audience: {
      ...(tags && { tags: [tags] }),
      ...(fate % 5 === 0 && { attributes: { city: 'Moshi' } }),
      ...(fate % 7 === 0 && { exclude_tags: ['odd'] }),
      ...(fate % 11 === 0 && { exclude_attributes: { city: 'Moshi' } }),
    },
    ...(rate !== null && { rate }),
    ...(delay_s > 0 && { scheduled_at }),
    ...(delay_s > 0 && step.isZoned && { time_zone: 'recipient' }),
    draft: step.isDraft,
  }
  const key = step.isKeyed ? `broadcast-${model.broadcasts.asked++}` : undefined
  for (let copy = 0; copy < step.copies; copy++) void create(stage, { workspace, body, key })
}

async function create(
  stage: Stage,
  { workspace, body, key }: { workspace: number; body: object; key: string | undefined },
): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place) return
  const work = async (core: Core) =>
    core.broadcasts.create(await identityOf(core, place.key), body as never, {
      idempotency_key: key,
    })
  const what = `broadcast ${key ?? '-'}`
  const answer = key ? await untilAnswered(stage, what, work) : await ask(stage, what, work)
  if (answer === null)
    model.broadcasts.lost[workspace] = (model.broadcasts.lost[workspace] ?? 0) + 1
  if (!answer || 'code' in answer) return
  const { id } = answer.value.data.broadcast
  world.trace(`${what} of ${workspace}: ${world.nameOf('b', id)}`)
  const { made } = model.broadcasts
  const first = key && made.find((one) => one.key === key)
  if (first && first.id !== id) world.violate('an idempotent answer is stable', `${what}: ${id}`)
  if (first) return
  made.push({
    id,
    key,
    place: workspace,
    paused: createToggle(),
    accepted: null,
    isCanceled: false,
  })
}

/** A client pauses, continues, changes, cancels or looks at a broadcast. */
export async function steer(stage: Stage, { which, how }: Doing<'steer'>): Promise<void> {
  const { world, model } = stage
  const { made } = model.broadcasts
  const one = made[made.length - 1 - (which % Math.min(made.length, 3))]
  const place = one && model.places[one.place]
  if (!one || !place) return
  const at = `${how} ${world.nameOf('b', one.id)}`
  const changes = how === 'pause' || how === 'resume'
  if (changes) one.paused.begin()
  const wasCanceled = one.isCanceled
  const answer = await ask(stage, at, async ({ broadcasts, ...core }) => {
    const identity = await identityOf(core as Core, place.key)
    if (how === 'get') return (await broadcasts.get(identity, one.id)).broadcast
    if (how === 'resume') return broadcasts.resume(identity, one.id)
    if (how === 'update') return broadcasts.update(identity, one.id, { rate: 30 })
    if (how === 'preview') {
      const template = { name: 'news' }
      await broadcasts.preview(identity, { channel: 'sms', template, audience: {}, draft: false })
      return null
    }
    return broadcasts[how](identity, one.id)
  })
  const shown = answer && 'value' in answer ? answer.value : null
  if (shown) world.trace(`${at}: ${shown.status} ${shown.counts.accepted}`)
  if (changes) {
    one.paused.end(shown ? (how === 'pause' ? 'yes' : 'no') : 'unknown')
    one.accepted = one.paused.state === 'yes' && shown ? shown.counts.accepted : null
  }
  if (how === 'cancel' && shown) one.isCanceled = true
  if (wasCanceled && shown && shown.status !== 'canceled') {
    world.violate('a canceled broadcast stays canceled', `${at}: ${shown.status}`)
  }
}

/** At the end, clients continue the broadcasts and bulks that they paused: their messages wait for nothing else. */
export async function continuePaused(stage: Stage): Promise<void> {
  const { world, model } = stage
  for (const one of model.broadcasts.made) {
    const place = model.places[one.place]
    if (!place) continue
    one.paused.begin()
    one.accepted = null
    const what = `continue ${world.nameOf('b', one.id)}`
    await untilAnswered(stage, what, async ({ broadcasts, ...core }) => {
      const identity = await identityOf(core as Core, place.key)
      const { broadcast } = await broadcasts.get(identity, one.id)
      if (broadcast.pause?.reason !== 'requested') return
      await broadcasts.resume(identity, one.id)
    })
    one.paused.end('unknown')
  }
  for (const [bulk_id, { toggle }] of model.bulkPauses) {
    const made = model.asked.find(({ answer }) => answer?.includes(bulk_id))
    const place = model.places[made?.place ?? -1]
    if (!place) continue
    toggle.begin()
    await untilAnswered(stage, `continue ${world.nameOf('k', bulk_id)}`, ({ messages }) =>
      messages.bulks.resume(place.id, bulk_id),
    )
    toggle.end('unknown')
  }
}

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** The day of the week of a day since 1970, which began with a Thursday. */
export const weekdayOf = (day: number) => WEEKDAYS[(day + 3) % 7] ?? 'mon'

const clockOf = (minute: number): string => {
  const [hours, rest] = [Math.floor(minute / 60), minute % 60]
  return `${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
}

/** An owner sets quiet hours that begin soon, or began, on the clocks of a zone; or removes them. Other settings of messages change with them. */
export async function setQuiet(stage: Stage, step: Doing<'quiet'>): Promise<void> {
  const { world, model } = stage
  const place = model.places[step.workspace]
  if (!place) return
  const now = Math.floor(Date.now() / 60_000) + offsetMin(step.zone, Date.now())
  const start = (now + step.from_min + 1_440) % 1_440
  // Some begin on this day of the week only.
  const days = step.length_min === 62 && { days: [weekdayOf(Math.floor(now / 1_440))] }
  const end = (start + step.length_min) % 1_440
  const hours = step.isOff
    ? null
    : [{ category: step.category, start: clockOf(start), end: clockOf(end), ...days }]
  const change = { asked_ms: Date.now(), answered_ms: null as number | null, hours }
  model.quiet[step.workspace]?.push(change)
  const answer = await ask(stage, 'quiet hours', (core) =>
    core.workspaces.update(place.id, {
      quiet_hours: hours,
      ...(step.from_min === 0 ? ENDINGS : { sms_opt_out_text: null, postal_address: null }),
      verification_countries: step.from_min === 1 ? ['DE', 'FR'] : null,
      verification_daily_credits: (step.length_min === 3 ? 4 : null) as never,
    }),
  )
  if (!answer || 'code' in answer) return
  change.answered_ms = Date.now()
  world.trace(`quiet hours of ${step.workspace}: ${JSON.stringify(hours)}`)
}

/** A person follows the link in a mail, or takes it back. */
export async function unsubscribe(stage: Stage, step: Doing<'unsubscribe'>): Promise<void> {
  const { world, model } = stage
  const link = model.links[model.links.length - 1 - (step.which % Math.min(model.links.length, 9))]
  if (!link) return
  const one = optOutOf(link.place, 'email', link.address)
  one.toggle.begin()
  const at = `${step.isUndone ? 'undo unsubscribing' : 'unsubscribe'} ${link.address}`
  const answer = await ask(stage, at, async (core) => {
    const isDone = await (step.isUndone
      ? core.unsubscribe.undo(link.token)
      : core.unsubscribe.take(link.token))
    return { isDone, page: await core.unsubscribe.look(link.token) }
  })
  const done = answer && 'value' in answer ? answer.value : null
  world.trace(`${at}: ${done?.isDone}`)
  one.toggle.end(done?.isDone && !step.isUndone ? 'yes' : 'unknown')
  one.since_ms = elapsedMs()
  const isErased = model.erasing.has(link.address)
  if (done && !step.isUndone && !isErased && (!done.isDone || done.page?.is_suppressed === false)) {
    if (one.toggle.state === 'yes') world.violate('an unsubscribe link works', at)
  }
}

/** An owner changes what a contact gets, or adds a contact. */
export async function changeContact(stage: Stage, step: Doing<'contact'>): Promise<void> {
  const { world, model } = stage
  const place = model.places[step.workspace]
  if (!place) return
  if (step.how === 'add') {
    const fate = mixed(step.which, model.contacts.length) % 2_000_000
    const phone = numberOf(fate)
    const email = `c${fate}@a.company.with.a.name.of.many.words.example`
    const fields = { phone, email, name: 'New', tags: ['all'] }
    const answer = await ask(stage, 'new contact', ({ contacts }) =>
      contacts.create(place.id, fields),
    )
    if (!answer || 'code' in answer) return
    const { id } = answer.value
    model.contacts.push({ id, place: step.workspace, name: fields.name, phone, email, zone: null })
    return
  }
  const own = model.contacts.filter((one) => one.place === step.workspace)
  const contact = own[step.which % own.length]
  if (!contact) return
  const { phone } = contact
  if (step.how === 'rename') contact.name = null
  const isOut = step.how === 'out'
  const one = phone && step.how !== 'rename' ? optOutOf(step.workspace, 'sms', phone) : null
  one?.toggle.begin()
  const fields = one
    ? { subscriptions: { sms: isOut ? ('unsubscribed' as const) : ('subscribed' as const) } }
    : { name: `M${step.which}` }
  const answer = await ask(stage, `${step.how} ${phone}`, ({ contacts }) =>
    contacts.update(place.id, contact.id, fields),
  )
  const isDone = answer !== null && 'value' in answer
  one?.toggle.end(isDone && isOut ? 'yes' : 'unknown')
  if (one) one.since_ms = elapsedMs()
  world.trace(`contact ${step.how}: ${isDone}`)
}

/** The words of a search and of a contact, whose beginnings are compared. */
const wordsIn = (text: string): string[] => text.toLowerCase().match(/[^ '"(),/+\u2019-]+/g) ?? []

/** The characters of a word that count. */
const WORD_LENGTH = 40

/** An owner searches for a contact, with one of its texts as it is written, or with the beginnings of all. */
export async function findContact(
  stage: Stage,
  { which, workspace }: Doing<'look'>,
): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  const own = model.contacts.filter((one) => one.place === workspace)
  // The newest first, because its address is long.
  const contact = own.at(-1 - (which % own.length))
  if (!place || !contact) return
  const { id, name, phone, email } = contact
  const texts = [email, phone, name].flatMap((text) => text ?? [])
  const search =
    which % 2 === 0
      ? (texts[(which >> 1) % texts.length] ?? '').toUpperCase()
      : texts.map((text) => text.slice(0, 6)).join(' ')
  const at = `find ${search}`
  const answer = await ask(stage, at, ({ people }) => people.find(place.id, { search } as never))
  if (!answer || 'code' in answer) return
  const { people } = answer.value
  world.trace(`${at}: ${people.length}`)
  const isErased = [phone, email].some((one) => one !== null && model.erasing.has(one))
  const isFound = people.some((one) => one.id === id)
  if (!isFound && !isErased && contact.name === name) world.violate('a search finds a contact', at)
  const words = wordsIn(search).map((word) => word.slice(0, WORD_LENGTH))
  for (const one of people) {
    const its = wordsIn([one.name, one.phone, one.email].join(' '))
    if (words.every((word) => its.some((each) => each.startsWith(word)))) continue
    world.violate('a search finds no other contact', `${at}: ${JSON.stringify(one)}`)
  }
}
