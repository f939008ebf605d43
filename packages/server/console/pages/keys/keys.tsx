import type { ApiKey, ApiKeysCreateData } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  Checks,
  type Column,
  Copy,
  confirm,
  copyText,
  Empty,
  Facts,
  FormDialog,
  ListPage,
  PageHead,
  SecretDialog,
  Select,
  TextArea,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { credits } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { query } from '../../shell/router.ts'
import { may, mode as shownMode } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { instantOf } from '../../shell/time-zone.ts'
import { wordOf } from '../../shell/words.ts'
import { firstCurl } from './first-curl.ts'

const SCOPES = [
  ['send_messages', t('Send messages')],
  ['read_messages', t('Read messages')],
  ['manage_contacts', t('Manage contacts')],
  ['manage_webhooks', t('Manage webhooks')],
] as const

const MODES = [
  ['live', t('Live: messages are sent and cost credits')],
  ['test', t('Test: messages are simulated and free')],
] as const

function limitsOf({ daily_credit_limit: limit, allowed_ips, expires_at }: ApiKey) {
  const isOver = expires_at !== null && new Date(expires_at) <= new Date()
  return (
    <div>
      {limit !== null && <div>{rich('{limit} a day', { limit: credits(limit) })}</div>}
      {allowed_ips && (
        <div>{t('only from {addresses}', { addresses: allowed_ips.join(', ') })}</div>
      )}
      {expires_at && (
        <div>
          {isOver
            ? rich('expired {time}', { time: <Time at={expires_at} /> })
            : rich('expires {time}', { time: <Time at={expires_at} /> })}
        </div>
      )}
      {limit === null && !allowed_ips && !expires_at && t('none')}
    </div>
  )
}

const COLUMNS: readonly Column<ApiKey>[] = [
  { name: t('Name'), kind: 'main', value: ({ name }) => name },
  {
    name: t('Key'),
    value: ({ key_prefix, mode, is_active, signs }) => (
      <span>
        <code>{key_prefix}</code> {mode === 'test' && <Badge tone="warn">{t('test')}</Badge>}{' '}
        {signs && <Badge>{t('Twilio')}</Badge>} {!is_active && <Badge>{t('revoked')}</Badge>}
      </span>
    ),
  },
  {
    name: t('Scopes'),
    value: ({ scopes }) =>
      scopes.length === SCOPES.length ? t('all') : scopes.map(wordOf).join(', '),
  },
  { name: t('Limits'), value: limitsOf },
  { name: t('Last use'), value: ({ last_used_at: at }) => (at ? <Time at={at} /> : t('never')) },
]

function Keys() {
  const after = query.value.get('after') ?? undefined
  const list = useLoad((signal) => api.apiKeys.list({ after, limit: 50 }, { signal }), [after])
  const [isOpen, setOpen] = useState(false)
  const [created, setCreated] = useState<ApiKeysCreateData | null>(null)
  async function revoke({ id, name }: ApiKey) {
    const isSure = await confirm({
      title: t('Revoke “{name}”?', { name }),
      text: t(
        'Programs that use this key are refused from now on. A revoked key cannot be used again.',
      ),
      action: t('Revoke key'),
      danger: true,
    })
    if (!isSure) return
    await api.apiKeys.deactivate(id)
    toast(t('The key is revoked.'))
    list.reload()
  }
  const add = may('develop') && (
    <Button kind="primary" icon="plus" onClick={() => setOpen(true)}>
      {t('Create key')}
    </Button>
  )
  return (
    <>
      <PageHead title={t('API keys')} text={t('Your programs send and read messages with a key.')}>
        {add}
      </PageHead>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.api_keys}
        label={t('API keys')}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        actions={(key) =>
          key.is_active &&
          may('develop') && <Button onClick={() => revoke(key)}>{t('Revoke')}</Button>
        }
        noun="key"
        empty={
          <Empty icon="keys" title={t('No keys yet')}>
            <p>{t('Create one, and your program can send its first message.')}</p>
            {add}
          </Empty>
        }
      />
      {isOpen && (
        <KeyForm
          onClose={() => setOpen(false)}
          onCreated={(key) => {
            setOpen(false)
            setCreated(key)
            list.reload()
          }}
        />
      )}
      {created && (
        <SecretDialog
          title={t('Key “{name}”', { name: created.name })}
          secret={created.key}
          onClose={() => setCreated(null)}
        >
          {created.account_sid && (
            <Facts
              of={{
                [t('Account SID')]: <Copy value={created.account_sid} />,
                [t('Auth token')]: t('the key above'),
              }}
            />
          )}
          {created.scopes.includes('send_messages') && <FirstMessage {...created} />}
        </SecretDialog>
      )}
    </>
  )
}

function FirstMessage({ key, mode }: ApiKeysCreateData) {
  const isSimulated = facts.dev || mode === 'test'
  const curl = firstCurl(key, isSimulated ? undefined : t('<phone number>'))
  return (
    <details>
      <summary>{t('Send a first message with it')}</summary>
      <pre>{curl}</pre>
      <Button
        icon="copy"
        onClick={async () => {
          await copyText(curl)
          toast(t('Copied.'))
        }}
      >
        {t('Copy the command')}
      </Button>
    </details>
  )
}

function KeyForm({
  onCreated,
  onClose,
}: {
  onCreated(key: ApiKeysCreateData): void
  onClose(): void
}) {
  const [name, setName] = useState('')
  const [mode, setMode] = useState<string>(shownMode.value)
  const [chosen, setChosen] = useState<readonly string[] | null>(null)
  const [limit, setLimit] = useState('')
  const [ips, setIps] = useState('')
  const [expires, setExpires] = useState('')
  const [options, setOptions] = useState<readonly string[]>([])
  const all: string[] = SCOPES.map(([scope]) => scope)
  const scopes = chosen ?? (mode === 'test' ? all.slice(0, 2) : all)
  const create = async () => {
    const allowed_ips = ips.split(/[\s,]+/).filter(Boolean)
    const key = await api.apiKeys.create({
      name: name.trim(),
      mode: mode as 'live',
      scopes: scopes as ['send_messages'],
      ...(limit && { daily_credit_limit: Number(limit) }),
      ...(allowed_ips.length > 0 && { allowed_ips }),
      // The last moment of the day.
      ...(expires && { expires_at: instantOf(`${expires}T23:59:59`).toISOString() }),
      ...(options.includes('signs') && { signs: true }),
    })
    onCreated(key)
  }
  return (
    <FormDialog
      title={t('Create key')}
      action={t('Create key')}
      onSubmit={create}
      onClose={onClose}
    >
      {(error) => (
        <>
          <TextInput
            label={t('Name')}
            required
            autofocus
            placeholder={t('Shop, production')}
            value={name}
            onInput={setName}
            error={fieldError(error, 'name')}
          />
          <Select label={t('Mode')} value={mode} options={MODES} onInput={setMode} />
          <Checks
            label={t('Scopes')}
            options={SCOPES}
            chosen={scopes}
            onChange={setChosen}
            error={fieldError(error, 'scopes')}
          />
          <Checks
            label={t('Compatibility')}
            options={[
              [
                'signs',
                t('Works as an auth token of Twilio'),
                t('The service keeps it, encrypted, to sign callbacks.'),
              ],
            ]}
            chosen={options}
            onChange={setOptions}
          />
          <TextInput
            label={t('Credits a day')}
            type="number"
            min="0"
            step="any"
            hint={t('Empty: no limit of its own')}
            value={limit}
            onInput={setLimit}
            error={fieldError(error, 'daily_credit_limit')}
          />
          <TextArea
            label={t('Allowed addresses')}
            rows={2}
            placeholder="192.0.2.0/24"
            hint={t('IP addresses or networks. Empty: any')}
            value={ips}
            onInput={setIps}
          />
          <TextInput
            label={t('Last day')}
            type="date"
            hint={t('Empty: never expires')}
            value={expires}
            onInput={setExpires}
            error={fieldError(error, 'expires_at')}
          />
        </>
      )}
    </FormDialog>
  )
}

export default { title: t('API keys'), Page: Keys }
