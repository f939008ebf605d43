import { useEffect, useRef } from 'preact/hooks'
import { Field, Select, Tabs, TextArea, TextInput } from '../../parts/index.ts'
import { facts } from '../../shell/facts.ts'
import { number } from '../../shell/format.ts'
import { t } from '../../shell/text.ts'
import { timeZone } from '../../shell/time-zone.ts'
import { wordOf } from '../../shell/words.ts'
import { SENT_CHANNELS } from '../messages/channels.ts'
import type { Attachment, Draft } from './draft.ts'

interface Editing {
  draft: Draft
  set(change: Partial<Draft>): void
  errorOf(path: string): string | undefined
}

type TextField = { [K in keyof Draft]: Draft[K] extends string ? K : never }[keyof Draft]

/** The connection of a control with a field of the draft. `paths`: where the API reports faults of it. */
export function bound({ draft, set, errorOf }: Editing, name: TextField, ...paths: string[]) {
  return {
    value: draft[name],
    onInput: (value: string) => set({ [name]: value }),
    error: paths.map(errorOf).find(Boolean),
  }
}

/** The choice of the channel. */
export function ChannelTabs({ draft, set, isBulk }: Editing & { isBulk?: boolean }) {
  return (
    <Tabs
      label={t('Channel')}
      tabs={SENT_CHANNELS.filter(([channel]) => !isBulk || channel !== 'voice')}
      current={draft.channel}
      onChoose={(channel) => set({ channel: channel as Draft['channel'], form: 'text' })}
    />
  )
}

/** The content for the channel of the draft. `isBulk`: for many recipients, with placeholders and without files. */
export function ContentFields({ isBulk = false, ...editing }: Editing & { isBulk?: boolean }) {
  const { draft } = editing
  const hint = isBulk
    ? t('{{name}} and {{name|fallback}} are filled in for each recipient.')
    : undefined
  const text = (
    <TextArea label={t('Text')} rows={5} hint={hint} {...bound(editing, 'text', 'content.text')} />
  )
  if (draft.channel === 'sms') return text
  if (draft.channel === 'email') return <MailFields {...editing} isBulk={isBulk} hint={hint} />
  if (draft.channel === 'voice') {
    return (
      <>
        <Form
          {...editing}
          options={[
            ['text', t('Read a text')],
            ['audio', t('Play a recording')],
          ]}
        />
        {draft.form === 'audio' ? (
          <TextInput
            label={t('Address of the recording')}
            type="url"
            {...bound(editing, 'url', 'content.audio_url')}
          />
        ) : (
          <>
            {text}
            <TextInput label={t('Language')} {...bound(editing, 'language', 'content.language')} />
            <TextInput
              label={t('Voice of the call')}
              {...bound(editing, 'voice', 'content.voice')}
            />
          </>
        )}
      </>
    )
  }
  return (
    <>
      <Form
        {...editing}
        options={[
          ['text', t('Text')],
          ['template', t('Template')],
          ['media', t('Media')],
        ]}
      />
      {draft.form === 'text' && text}
      {draft.form === 'template' && (
        <>
          <TextInput
            label={t('Name of the template')}
            hint={t('As the provider approved it.')}
            {...bound(editing, 'template', 'content.template.name', 'content.template')}
          />
          <TextInput
            label={t('Language')}
            {...bound(editing, 'language', 'content.template.language')}
          />
          <TextArea
            label={t('Variables')}
            hint={t('A JSON object, such as {"1": "Asha"}.')}
            {...bound(editing, 'variables', 'content.template.variables')}
          />
        </>
      )}
      {draft.form === 'media' && (
        <>
          <Select
            label={t('Kind')}
            options={['image', 'video', 'audio', 'document', 'sticker'].map((one) => [
              one,
              wordOf(one),
            ])}
            {...bound(editing, 'media_type', 'content.media.type')}
          />
          <TextInput
            label={t('Address of the file')}
            type="url"
            {...bound(editing, 'url', 'content.media.url')}
          />
          <TextInput label={t('Caption')} {...bound(editing, 'caption', 'content.media.caption')} />
        </>
      )}
    </>
  )
}

function Form({
  draft,
  set,
  options,
}: Editing & { options: readonly (readonly [Draft['form'], string])[] }) {
  return (
    <Select
      label={t('Content')}
      value={draft.form}
      options={options}
      onInput={(form) => set({ form: form as Draft['form'] })}
    />
  )
}

function MailFields({
  isBulk,
  hint,
  ...editing
}: Editing & { isBulk: boolean; hint: string | undefined }) {
  const field = (name: TextField) => bound(editing, name, `content.${name}`)
  const { draft, set, errorOf } = editing
  const more = useRef<HTMLDetailsElement>(null)
  const hasFault = (['cc', 'bcc', 'from_address', 'reply_to'] as const).some((name) =>
    errorOf(`content.${name}`),
  )
  useEffect(() => {
    if (hasFault && more.current) more.current.open = true
  }, [hasFault])
  return (
    <>
      {!isBulk && (
        <details ref={more}>
          <summary>{t('Copies, sender address, replies')}</summary>
          <div class="form">
            <TextInput label={t('Copy (cc)')} {...field('cc')} />
            <TextInput label={t('Blind copy (bcc)')} {...field('bcc')} />
            <TextInput
              label={t('Sender address')}
              type="email"
              hint={t('At a verified domain of the workspace.')}
              {...field('from_address')}
            />
            <TextInput label={t('Reply to')} {...field('reply_to')} />
          </div>
        </details>
      )}
      <TextInput label={t('Subject')} {...field('subject')} />
      <TextArea
        label={t('HTML')}
        rows={7}
        hint={hint}
        {...bound(editing, 'html', 'content.html', 'content')}
      />
      <TextArea
        label={t('Plain text')}
        rows={4}
        hint={t('For programs that show no HTML. One of the two is required.')}
        {...bound(editing, 'text', 'content.text')}
      />
      {!isBulk && (
        <Field
          label={t('Attachments')}
          hint={
            draft.attachments.length > 0
              ? draft.attachments.map(sizeText).join(', ')
              : t('At most 10 files, {attachments_max_mb} MB together.', {
                  attachments_max_mb: facts.attachments_max_mb,
                })
          }
          error={errorOf('content.attachments')}
        >
          {(control) => (
            <input
              {...control}
              type="file"
              multiple
              onChange={async ({ currentTarget: { files } }) => {
                set({ attachments: await Promise.all([...(files ?? [])].map(attachmentOf)) })
              }}
            />
          )}
        </Field>
      )}
    </>
  )
}

function sizeText({ filename, content }: Attachment): string {
  return t('{filename} ({number} bytes)', {
    filename,
    number: number(Math.floor((content.length * 3) / 4)),
  })
}

function attachmentOf(file: File): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(reader.error)
    reader.onload = () => {
      const content = `${reader.result}`.replace(/^.*?,/, '')
      const { name: filename, type } = file
      resolve({ filename, content, ...(type && { content_type: type }) })
    }
    reader.readAsDataURL(file)
  })
}

/** Sender, schedule and metadata. */
export function MoreFields(editing: Editing) {
  return (
    <>
      <TextInput
        label={editing.draft.channel === 'email' ? t('Name of the sender') : t('Sender')}
        hint={t('Empty: the sender of the workspace or of the provider.')}
        {...bound(editing, 'from', 'from')}
      />
      <TextInput
        label={t('Send at')}
        type="datetime-local"
        hint={t('Empty: now. In your time zone, {timeZone}; at most 35 days ahead.', {
          timeZone: timeZone(),
        })}
        {...bound(editing, 'at', 'scheduled_at')}
      />
      <TextArea
        label={t('Metadata')}
        hint={t('A JSON object, such as {"order_id": "A1"}. Webhooks contain it.')}
        {...bound(editing, 'metadata', 'metadata')}
      />
    </>
  )
}
