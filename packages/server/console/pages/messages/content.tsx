import { useState } from 'preact/hooks'
import { Facts, Tabs } from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { ownUrl } from '../../shell/own-api.ts'
import { chosenWorkspace, mode } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'

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
  if (content === null) return t('(long)')
  const { subject, text, template, media, audio_url } = content as AnyContent
  if (template) return t('Template {name}', { name: template.name ?? template.id })
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
  if (Object.keys(content).length === 0) return <p class="muted">{t('The content was removed.')}</p>
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
          [t('Template')]:
            template && `${template.name ?? template.id} (${template.language ?? '–'})`,
          [t('Variables')]: template?.variables && (
            <pre>{JSON.stringify(template.variables, null, 1)}</pre>
          ),
          [t('Media')]: media && `${media.type}: ${media.url}`,
          [t('Caption')]: media?.caption,
          [t('Recording')]: audio_url,
          [t('Language')]: more.language,
          [t('Voice of the call')]: more.voice,
          [t('From address')]: more.from_address,
          [t('Reply to')]: listed(more.reply_to),
          [t('Copy (cc)')]: listed(more.cc),
          [t('Blind copy')]: listed(more.bcc),
          [t('Tags')]: more.tags?.map(({ name, value }) => `${name}: ${value}`).join(', '),
          [t('Headers')]: more.headers && <pre>{JSON.stringify(more.headers, null, 1)}</pre>,
          [t('Attachments')]: more.attachments?.map(({ filename, size_bytes = 0 }) => (
            <div key={filename}>
              {filename}{' '}
              <small>{rich('{size_bytes} bytes', { size_bytes: number(size_bytes) })}</small>
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
    ['text', t('Text')],
    ['source', t('Source')],
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
      {shown.length > 1 && (
        <Tabs label={t('Content')} tabs={shown} current={tab} onChoose={setTab} />
      )}
      {tab === 'html' && (
        <iframe
          title={t('E-mail: {subject}', { subject })}
          sandbox=""
          referrerpolicy="no-referrer"
          src={url}
        />
      )}
      {tab === 'text' && <pre dir="auto">{text}</pre>}
      {tab === 'source' && <pre>{html}</pre>}
    </div>
  )
}
