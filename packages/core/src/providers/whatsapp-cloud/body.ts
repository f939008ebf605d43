import type { Outcome, SendJob } from '../../contract/outside/provider.ts'
import type { WhatsappContent } from '../../contract/resources/content.ts'
import type { WhatsappCloudSettings } from './settings.ts'

type Media = NonNullable<WhatsappContent['media']>

const CAPTIONED: ReadonlySet<Media['type']> = new Set(['image', 'video', 'document'])

/**
 * The body of a call to Meta as JSON, or the reason why no call is made. Meta returns our ids from this body in every
 * status, so a status that arrives before the answer can be matched. Source: Meta, Cloud API, Messages.
 */
export function messageBody(
  job: SendJob,
  { templates }: Pick<WhatsappCloudSettings, 'templates'>,
): string | Refusal {
  const payload = payloadOf(job, templates)
  if (isRefusal(payload)) return payload
  return JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    // The number keeps its plus sign, because without it Meta may add the sender's country code.
    to: job.recipient,
    ...payload,
    biz_opaque_callback_data: `${job.workspace_id}.${job.message_id}`,
  })
}

type Payload = { type: string } & Record<string, unknown>

function payloadOf(job: SendJob, templates: WhatsappCloudSettings['templates']): Payload | Refusal {
  if (job.channel !== 'whatsapp') {
    return refusal('unsupported_channel', 'Only WhatsApp messages go through this provider')
  }
  const { text, preview_url = false, media, template } = job.content as WhatsappContent
  if (text !== undefined) return { type: 'text', text: { body: text, preview_url } }
  if (media) return mediaOf(media)
  if (!template) return refusal('invalid_content', 'The message has no text, media or template')
  const body = templateBody(template, templates)
  return isRefusal(body) ? body : { type: 'template', template: body }
}

function mediaOf({ type, url, caption, filename }: Media): Payload | Refusal {
  if (caption !== undefined && !CAPTIONED.has(type)) {
    return refusal('invalid_content', 'Audio and stickers cannot have a caption on WhatsApp')
  }
  return {
    type,
    [type]: {
      link: url,
      ...(caption !== undefined && { caption }),
      // Only for documents; Meta refuses a file name for other media.
      ...(filename !== undefined && type === 'document' && { filename }),
    },
  }
}

/** The outcome of a message that Meta would refuse or change. It is rejected before any call. */
type Refusal = Extract<Outcome, { type: 'rejected' }>

function refusal(error_code: string, error_message: string): Refusal {
  return { type: 'rejected', error_code, error_message }
}

function isRefusal(result: object | string): result is Refusal {
  return typeof result === 'object' && 'error_code' in result
}

type TemplateContent = NonNullable<WhatsappContent['template']>

interface Parameter {
  type: 'text'
  parameter_name?: string
  text: string
}

/** The variables of one part of a template. Source: Meta, Template messages. */
interface Component {
  type: 'header' | 'body' | 'button'
  sub_type?: 'url'
  index?: string
  parameters: Parameter[]
}

/** A template in Meta's format. */
interface TemplateBody {
  name: string
  language: { code: string }
  components?: Component[]
}

/**
 * The template with its variables in Meta's format. A variable is named `1`, `2`, … without a gap, or like a parameter
 * of the template. The prefix `header.` means the header; `button.0` is the address (or the code) of a button.
 */
function templateBody(
  { name, id, language, variables = {} }: TemplateContent,
  templates: WhatsappCloudSettings['templates'],
): TemplateBody | Refusal {
  const known =
    id !== undefined && templates && Object.hasOwn(templates, id) ? templates[id] : undefined
  const template = { name: name ?? known?.name, language: language ?? known?.language }
  if (template.name === undefined || template.language === undefined) {
    return refusal('template_unknown', 'No template of this id is in the settings')
  }
  const components = componentsOf(Object.entries(variables))
  if (isRefusal(components)) return components
  return {
    name: template.name,
    language: { code: template.language },
    ...(components.length > 0 && { components }),
  }
}

const BUTTON = /^button\.(\d)$/
const HEADER = /^header\./
const POSITION = /^[1-9]\d{0,2}$/

function componentsOf(entries: readonly [string, string][]): Component[] | Refusal {
  if (!entries.every(([, value]) => isVariable(value))) {
    return refusal(
      'invalid_template_variables',
      'Variables must not be blank nor have line breaks, tabs or more than four spaces in a row',
    )
  }
  const buttons = entries.filter(([name]) => BUTTON.test(name))
  const header = entries.filter(([name]) => HEADER.test(name))
  const rest = entries.filter(([name]) => !BUTTON.test(name) && !HEADER.test(name))
  const headerParameters = parametersOf(header.map(([name, text]) => [name.slice(7), text]))
  const bodyParameters = parametersOf(rest)
  if (!headerParameters || !bodyParameters) {
    return refusal(
      'invalid_template_variables',
      'Variables must be named 1, 2, … without a gap, or all have names',
    )
  }
  return [
    ...(header.length > 0 ? [{ type: 'header' as const, parameters: headerParameters }] : []),
    ...(rest.length > 0 ? [{ type: 'body' as const, parameters: bodyParameters }] : []),
    ...buttons.map(([name, text]) => buttonOf(name, text)),
  ]
}

/** Returns null if positions are mixed with names, or have a gap. */
function parametersOf(entries: readonly [string, string][]): Parameter[] | null {
  const positions = entries.filter(([name]) => POSITION.test(name))
  if (positions.length === 0) {
    return entries.map(([parameter_name, text]) => ({ type: 'text', parameter_name, text }))
  }
  if (positions.length < entries.length) return null
  const sorted = positions.toSorted(([a], [b]) => Number(a) - Number(b))
  if (sorted.some(([name], i) => Number(name) !== i + 1)) return null
  return sorted.map(([, text]) => ({ type: 'text', text }))
}

function buttonOf(name: string, text: string): Component {
  const index = BUTTON.exec(name)?.[1] ?? '0'
  // In this API a button that copies a one-time code is a `url` button too.
  return { type: 'button', sub_type: 'url', index, parameters: [{ type: 'text', text }] }
}

/** Meta's rule for a parameter: one line, not blank, at most four spaces in a row. */
function isVariable(value: string): boolean {
  return value.trim() !== '' && !/[\r\n\t]| {5}/.test(value)
}
