import type { SendJob } from '../../contract/outside/provider.ts'
import type { Content } from '../../contract/resources/messages.ts'
import { encodingOf } from '../../sms/index.ts'
import type { Json, Placeholder, ValueOf } from './template.ts'

/** The names of placeholders besides `content.<member>…`; the guide explains each. */
export const NAMES = [
  'message_id',
  'workspace_id',
  'reference',
  'channel',
  'to',
  'to_digits',
  'from',
  'from_digits',
  'text',
  'subject',
  'html',
  'content',
  'encoding',
  'coding',
  'callback_url',
  'attempt',
  'max_duration_s',
  'provider_message_id',
] as const

/** The placeholders for headers. They stand for values of the service, so no message can break a header. */
export const HEADER_NAMES: readonly string[] = ['message_id', 'workspace_id', 'reference']

const CONTENT_PATH = /^content(\.[a-z0-9_]{1,64}){1,8}$/i

export function isName(name: string): boolean {
  return (NAMES as readonly string[]).includes(name) || CONTENT_PATH.test(name)
}

/** The main part of a message: the template must contain one of these. */
const PARTS = ['text', 'html', 'media', 'template', 'audio_url'] as const

/** Whether a template with these placeholders includes the main part of this message. */
export function carries(placeholders: readonly Placeholder[], content: Content): boolean {
  const names = placeholders.map(({ name }) => name)
  return PARTS.some(
    (part) =>
      memberOf(content, part) !== undefined &&
      names.some((name) => {
        const path = `content.${part}`
        return name === 'content' || name === part || name === path || name.startsWith(`${path}.`)
      }),
  )
}

/** Whether a template with these placeholders includes the main part of any message. */
export function carriesContent(placeholders: readonly Placeholder[]): boolean {
  return placeholders.some(({ name }) => {
    const [first = '', second] = name.split('.')
    if (first === 'content' && second === undefined) return true
    return (PARTS as readonly string[]).includes(first === 'content' ? (second ?? '') : first)
  })
}

/** The values of the placeholders for a message. */
export function valuesOf(
  job: SendJob & { provider_message_id?: string | null },
  callback_url: string,
): ValueOf {
  const { content, recipient, sender } = job
  const text = memberOf(content, 'text')
  const values: Record<(typeof NAMES)[number], () => Json | undefined> = {
    message_id: () => job.message_id,
    workspace_id: () => job.workspace_id,
    reference: () => referenceOf(job),
    channel: () => job.channel,
    to: () => recipient,
    to_digits: () => recipient.replace(/^\+/, ''),
    from: () => sender ?? undefined,
    from_digits: () => sender?.replace(/^\+/, ''),
    text: () => text,
    subject: () => memberOf(content, 'subject'),
    html: () => memberOf(content, 'html'),
    content: () => content as Json,
    encoding: () => (typeof text === 'string' ? encodingOf(text) : undefined),
    coding: () => (typeof text === 'string' ? CODINGS[encodingOf(text)] : undefined),
    callback_url: () => callback_url,
    attempt: () => job.attempt,
    max_duration_s: () => job.max_duration_s ?? undefined,
    provider_message_id: () => job.provider_message_id ?? undefined,
  }
  return (name) => {
    if (Object.hasOwn(values, name)) return values[name as keyof typeof values]()
    return name
      .split('.')
      .slice(1)
      .reduce<Json | undefined>(memberOf, content as Json)
  }
}

/** The numbers that gateways such as Kannel use: 0 for the 7-bit alphabet, 2 for UCS-2. */
const CODINGS = { 'GSM-7': 0, 'UCS-2': 2 } as const

function memberOf(value: unknown, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, Json>)[name]
}

/** Identifies a message in 73 characters, for gateways that return a reference in their callbacks. */
function referenceOf({ workspace_id, message_id }: SendJob): string {
  return `${workspace_id}.${message_id}`
}
