import type { Webhook } from '@svc/client'
import { useState } from 'preact/hooks'
import { Checks, FormDialog, Select, TextArea, TextInput, toast } from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import { mode as shownMode } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'

const MODES = [
  ['all', t('Live and test messages')],
  ['live', t('Live messages')],
  ['test', t('Test messages')],
] as const

const FORMATS = Object.entries({
  svc: t('Standard'),
  twilio: t('As Twilio sends them (SMS, WhatsApp)'),
  resend: t('As Resend sends them (e-mail)'),
} satisfies Record<Webhook['format'], string>)

const HEADER_CHANGES = [
  ['keep', t('Keep them')],
  ['replace', t('Replace them')],
  ['none', t('Remove them')],
] as const

/** Lines `Name: value` as an object. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim())
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.trim(), value.join(':').trim()]
    }),
  )
}

/** Creates a webhook, or changes one. */
export function WebhookForm({
  webhook,
  onSaved,
  onClose,
}: {
  webhook?: Webhook
  onSaved(saved: { id: string; secret?: string }): void
  onClose(): void
}) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [events, setEvents] = useState<readonly string[]>(webhook?.events ?? ['*'])
  const [mode, setMode] = useState<string>(webhook?.mode ?? 'all')
  const [format, setFormat] = useState<string>('svc')
  const [key, setKey] = useState('')
  const [headers, setHeaders] = useState('')
  const [change, setChange] = useState(webhook?.headers.length ? 'keep' : 'replace')
  const kinds = useLoad((signal) => api.webhooks.events({ signal }), [])
  const keys = useLoad((signal) => api.apiKeys.list({ limit: 100 }, { signal }), [])
  const signing = keys.data?.api_keys.filter(({ signs, is_active }) => signs && is_active) ?? []

  async function save() {
    const fields = { url: url.trim(), events: events as ['*'] }
    const sent = headersOf(headers)
    const isLive = shownMode.value === 'live'
    const chosen = isLive && { mode: mode as 'all' }
    const { webhook: saved, warning } = webhook
      ? await api.webhooks.update(webhook.id, {
          ...fields,
          ...chosen,
          description: description.trim() || null,
          ...(change !== 'keep' && { headers: change === 'none' ? null : sent }),
        })
      : await api.webhooks.create({
          ...fields,
          ...chosen,
          ...(description.trim() && { description: description.trim() }),
          ...(headers.trim() && { headers: sent }),
          format: format as 'svc',
          ...(format === 'twilio' && { api_key_id: key || signing[0]?.id }),
        })
    if (warning) toast(warning, 'bad')
    onSaved(saved)
  }

  return (
    <FormDialog
      title={webhook ? t('Edit webhook') : t('Add webhook')}
      action={webhook ? t('Save') : t('Add webhook')}
      onSubmit={save}
      onClose={onClose}
    >
      {(error) => (
        <>
          <TextInput
            label={t('URL')}
            type="url"
            required
            autofocus
            placeholder="https://app.example.com/hooks/svc"
            value={url}
            onInput={setUrl}
            error={fieldError(error, 'url')}
          />
          <TextInput
            label={t('Description')}
            hint={t('Shown in the list of webhooks')}
            value={description}
            onInput={setDescription}
            error={fieldError(error, 'description')}
          />
          <Checks
            label={t('Events')}
            options={[
              ['*', t('All events, also future ones')],
              ...(events.includes('*') ? [] : (kinds.data?.events ?? [])).map(
                ({ name, description: hint }) => [name, name, hint] as const,
              ),
            ]}
            chosen={events}
            onChange={(next) => setEvents(next.includes('*') ? ['*'] : next)}
            error={fieldError(error, 'events')}
          />
          {shownMode.value === 'live' && (
            <Select label={t('Messages')} value={mode} options={MODES} onInput={setMode} />
          )}
          {!webhook && (
            <Select label={t('Format')} value={format} options={FORMATS} onInput={setFormat} />
          )}
          {format === 'twilio' && (
            <Select
              label={t('API key that signs')}
              value={key}
              options={signing.map(({ id, name }) => [id, name])}
              onInput={setKey}
              hint={signing.length === 0 && t('Create an API key for Twilio’s libraries first.')}
              error={fieldError(error, 'api_key_id')}
            />
          )}
          {webhook && webhook.headers.length > 0 && (
            <Select
              label={t('Own headers: {names}', { names: webhook.headers.join(', ') })}
              value={change}
              options={HEADER_CHANGES}
              onInput={setChange}
            />
          )}
          {change === 'replace' && (
            <TextArea
              label={t('Own headers')}
              rows={3}
              placeholder={t('Authorization: Bearer …')}
              hint={t('One per line. The values are never shown again.')}
              value={headers}
              onInput={setHeaders}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
