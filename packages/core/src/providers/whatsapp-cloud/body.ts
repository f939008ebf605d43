import type { SendJob } from '../../contract/outside/provider.ts'
import type { WhatsappContent } from '../../contract/resources/content.ts'
import type { WhatsappCloudSettings } from './settings.ts'
import { isRefusal, type Refusal, refusal, templateBody } from './template.ts'

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
