import { useState } from 'preact/hooks'
import { Facts, Tabs } from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { ownUrl } from '../../shell/own-api.ts'
import { chosenWorkspace, mode } from '../../shell/session.ts'

/** The fields that contents of the four channels can have. */
export interface AnyContent {
  text?: string
  subject?: string
  html?: string
  from_address?: string
  reply_to?: string | string[]
  cc?: string | string[]
  bcc?: string | string[]
  tags?: { name: string; value: string }[]
  headers?: Record<string, string>
  attachments?: { filename: string; content_type?: string; size_bytes?: number }[]
  media?: { type: string; url: string; caption?: string; filename?: string }
  template?: {
    name?: string
    id?: string
    language?: string
    variables?: Record<string, string>
  }
  language?: string
  voice?: string
  audio_url?: string
}

/** One line about a content; null: it is too long for a list. */
export function summaryOf(content: object | null): string {
  if (content === null) return '(long)'
  const { subject, text, template, media, audio_url } = content as AnyContent
  if (template) return `Template ${template.name ?? template.id}`
  return subject ?? text ?? media?.caption ?? media?.url ?? audio_url ?? ''
}

const listed = (value: string | string[] | undefined) =>
  Array.isArray(value) ? value.join(', ') : value

/**
 * The content of a message, or of a bulk, which has no `id` here. HTML of a message is shown in a frame that runs no script and
 * loads nothing.
 */
export function Content({
  id,
  channel,
  content,
}: {
  id?: string
  channel: string
  content: object
}) {
  const { subject, text, html, media, template, audio_url, ...more } = content as AnyContent
  if (Object.keys(content).length === 0) return <p class="muted">The content was removed.</p>
  return (
    <>
      {channel === 'email' ? (
        <Mail {...{ id, subject, text, html }} />
      ) : (
        text && (
          <p class="bubble" dir="auto">
            {text}
          </p>
        )
      )}
      <Facts
        of={{
          Template: template && `${template.name ?? template.id} (${template.language ?? '–'})`,
          Variables: template?.variables && (
            <pre>{JSON.stringify(template.variables, null, 1)}</pre>
          ),
          Media: media && `${media.type}: ${media.url}`,
          Caption: media?.caption,
          Recording: audio_url,
          Language: more.language,
          Voice: more.voice,
          'From address': more.from_address,
          'Reply to': listed(more.reply_to),
          Copy: listed(more.cc),
          'Blind copy': listed(more.bcc),
          Tags: more.tags?.map(({ name, value }) => `${name}: ${value}`).join(', '),
          Headers: more.headers && <pre>{JSON.stringify(more.headers, null, 1)}</pre>,
          Attachments: more.attachments?.map(({ filename, size_bytes = 0 }) => (
            <div key={filename}>
              {filename} <small>{number(size_bytes)} bytes</small>
            </div>
          )),
        }}
      />
    </>
  )
}

function Mail({
  id,
  subject,
  text,
  html,
}: {
  id: string | undefined
  subject: string | undefined
  text: string | undefined
  html: string | undefined
}) {
  const tabs = [
    ['html', 'HTML'],
    ['text', 'Text'],
    ['source', 'Source'],
  ] as const
  const shown = tabs.filter(([tab]) => (tab === 'text' ? text : html && (id || tab === 'source')))
  const [tab, setTab] = useState<string>(shown[0]?.[0] ?? 'text')
  const url = ownUrl(`/messages/${id}/html`, {
    mode: mode.value,
    workspace: chosenWorkspace.value ?? undefined,
  })
  return (
    <div class="mail">
      <h4 dir="auto">{subject}</h4>
      {shown.length > 1 && <Tabs label="Content" tabs={shown} current={tab} onChoose={setTab} />}
      {tab === 'html' && (
        <iframe title={`E-mail: ${subject}`} sandbox="" referrerpolicy="no-referrer" src={url} />
      )}
      {tab === 'text' && <pre dir="auto">{text}</pre>}
      {tab === 'source' && <pre>{html}</pre>}
    </div>
  )
}
