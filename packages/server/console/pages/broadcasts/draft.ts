import type { Broadcast, BroadcastsCreateBody, TemplateVersion } from '@svc/client'
import { t } from '../../shell/text.ts'
import { inputTime, instantOf } from '../../shell/time-zone.ts'
import { type Fault, filled } from '../compose/filled.ts'

/** A new broadcast as typed. */
export interface Draft {
  name: string
  channel: string
  /** The version of the template that the broadcast is to send; absent: the newest one when it begins. */
  version?: number
  /** Empty: the default language of the template. */
  locale: string
  values: Record<string, string>
  tags: string
  without: string
  attributes: string
  withoutAttributes: string
  /** `later`: at an instant; `recipient`: when the clocks of each recipient show the time. */
  begin: '' | 'later' | 'recipient'
  /** As the input for dates and times has it. */
  at: string
  rate: string
  from: string
}

export const EMPTY: Draft = {
  ...{ name: '', channel: '', locale: '', values: {}, tags: '', without: '', attributes: '' },
  withoutAttributes: '',
  ...{ begin: '', at: '', rate: '', from: '' },
}

/** The draft of a broadcast that has not begun. */
export function draftOf({ template, audience, ...one }: Broadcast): Draft {
  const { name, channel, from, rate, scheduled_at, time_zone } = one
  const values = Object.entries(template.variables).map(([key, value]) => [key, textOf(value)])
  return {
    ...(template.version !== null && { version: template.version }),
    ...{ name: name ?? '', channel, locale: template.locale ?? '', from: from ?? '' },
    values: Object.fromEntries(values),
    tags: textOfTags(audience.tags ?? []),
    without: textOfTags(audience.exclude_tags ?? []),
    attributes: textOfAttributes(audience.attributes),
    withoutAttributes: textOfAttributes(audience.exclude_attributes),
    begin: time_zone ?? (scheduled_at ? 'later' : ''),
    at: timeOf({ scheduled_at, time_zone }),
    rate: rate === null ? '' : String(rate),
  }
}

/** A value of a variable as a text of the form. */
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** The local time of recipients stands as if it were UTC. */
function timeOf({ scheduled_at, time_zone }: Pick<Broadcast, 'scheduled_at' | 'time_zone'>) {
  if (!scheduled_at) return ''
  return time_zone ? scheduled_at.slice(0, 16) : inputTime(scheduled_at)
}

/** Tags with commas between them; one with a comma or a quotation mark stands in quotation marks, as in CSV. */
export function textOfTags(tags: readonly string[]): string {
  return tags.map((tag) => (/[",]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(', ')
}

/** The tags of such a text, each once. */
export function tagsIn(text: string): string[] {
  const found = [...text.matchAll(/\s*"((?:[^"]|"")*)"\s*(?:,|$)|([^,]+)/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim(),
  )
  return [...new Set(found.filter(Boolean))]
}

function textOfAttributes(attributes: Broadcast['audience']['attributes'] = {}): string {
  return Object.entries(attributes)
    .map(([key, value]) => `${key} ${typeof value === 'string' ? '=' : ':='} ${value}`)
    .join('\n')
}

/** Lines such as `city = Berlin`; after `:=` there is a number, true or false. */
function attributesOf(text: string, path: string, faults: Fault[]) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const found = lines.map((line) => {
    const [, name = '', sign = '', value = ''] = /^([^=]*?)\s*(:?=)(.*)$/.exec(line) ?? []
    if (name.trim() === '') {
      faults.push({
        path,
        message: t('"{line}" must be name = value', { line }),
      })
    }
    return [name.trim(), sign === ':=' ? jsonOf(value) : value.trim()]
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

/** A value that is no text; the service says what is wrong with others. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `stored`: the values of the broadcast that the form changes. One whose text did not change stays as it is. */
function valuesOf(
  { variables }: TemplateVersion,
  values: Draft['values'],
  stored: Readonly<Record<string, unknown>> = {},
) {
  const isStored = (name: string, value: string) =>
    Object.hasOwn(stored, name) && textOf(stored[name]) === value
  const typed = Object.entries(values).filter(
    ([name, value]) => value !== '' || isStored(name, value),
  )
  if (typed.length === 0) return undefined
  return Object.fromEntries(
    typed.map(([name, value]) => {
      if (isStored(name, value)) return [name, stored[name]]
      const { type = 'text' } = variables.find((one) => one.name === name) ?? {}
      return [name, type === 'text' ? value : jsonOf(value)]
    }),
  )
}

/** The request of the form. What the person did not change of the broadcast `edited` stays exactly as it is. */
export function requestOf(
  draft: Draft,
  {
    template,
    channel,
    edited,
  }: { template: TemplateVersion; channel: string; edited: Broadcast | null },
) {
  const faults: Fault[] = []
  const { version, locale, values, begin, at, rate } = draft
  const before = edited && draftOf(edited)
  const isSameTime = before?.at === at && before.begin === begin
  const stored = edited?.template.name === template.name ? edited.template.variables : {}
  if (begin && !at) faults.push({ path: 'scheduled_at', message: t('Choose a date and a time') })
  const tags = tagsIn(draft.tags)
  const exclude_tags = tagsIn(draft.without)
  const attributes =
    before?.attributes === draft.attributes
      ? edited?.audience.attributes
      : attributesOf(draft.attributes, 'audience.attributes', faults)
  const exclude_attributes =
    before?.withoutAttributes === draft.withoutAttributes
      ? edited?.audience.exclude_attributes
      : attributesOf(draft.withoutAttributes, 'audience.exclude_attributes', faults)
  const body = filled({
    name: draft.name.trim(),
    channel,
    template: filled({
      name: template.name,
      version,
      locale,
      variables: valuesOf(template, values, stored),
    }),
    audience: filled({
      tags: tags.length > 0 ? tags : undefined,
      exclude_tags: exclude_tags.length > 0 ? exclude_tags : undefined,
      attributes,
      exclude_attributes,
    }),
    from: draft.from.trim(),
    // The inputs have no seconds. Without an offset it is the time that the clocks of recipients show.
    scheduled_at: isSameTime
      ? (edited?.scheduled_at ?? undefined)
      : begin === 'later' && at
        ? instantOf(at).toISOString()
        : begin && at,
    time_zone: begin === 'recipient' ? begin : undefined,
    rate: rate === '' ? undefined : Number(rate),
  })
  return { body: body as BroadcastsCreateBody, faults }
}
