import type { Domain } from '@svc/client'
import { useEffect, useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  Copy,
  confirm,
  Drawer,
  Empty,
  Facts,
  FormDialog,
  ListPage,
  Loaded,
  PageHead,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { exactTime } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, query } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'

const TONES = { verified: 'good', pending: 'busy', failing: 'warn', failed: 'bad' } as const
const RECORD_TONES = {
  verified: 'good',
  pending: 'busy',
  mismatch: 'bad',
  missing: 'bad',
} as const
const PURPOSES = {
  dkim: t('Signature (DKIM)'),
  dkim_next: t('Next signature (DKIM)'),
  dmarc: t('Policy (DMARC)'),
} as const

/** DNS changes take effect minutes later; the service looks for them itself too. */
const RELOAD_MS = 15_000

const COLUMNS: readonly Column<Domain>[] = [
  { name: t('Domain'), kind: 'main', value: ({ domain }) => domain },
  { name: t('State'), value: ({ status }) => <Badge tone={TONES[status]}>{wordOf(status)}</Badge> },
  { name: t('Checked'), value: ({ checked_at: at }) => (at ? <Time at={at} /> : t('not yet')) },
  { name: t('Added'), value: ({ created_at }) => <Time at={created_at} /> },
]

const mayChange = () => facts.self_service_domains && may('develop')

function Domains({ params: { id } }: PageProps) {
  const after = query.value.get('after') ?? undefined
  const list = useLoad((signal) => api.domains.list({ after, limit: 25 }, { signal }), [after])
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  const add = mayChange() && (
    <Button kind="primary" icon="plus" onClick={() => setOpen(true)}>
      {t('Add domain')}
    </Button>
  )
  const text = facts.self_service_domains
    ? t('E-mails from addresses of your own domain.')
    : t('The operator of this service adds sending domains: please contact support.')
  return (
    <>
      <PageHead title={t('Sending domains')} text={text}>
        {add}
      </PageHead>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.domains}
        label={t('Sending domains')}
        columns={COLUMNS}
        keyOf={(one) => one.id}
        to={(one) => `/domains/${one.id}`}
        current={id}
        noun="domain"
        empty={
          <Empty icon="domains" title={t('No sending domains')}>
            <p>{t('Your e-mails come from an address of this service.')}</p>
            {add}
          </Empty>
        }
      />
      {isOpen && (
        <FormDialog
          title={t('Add domain')}
          action={t('Add domain')}
          onClose={() => setOpen(false)}
          onSubmit={async () => {
            const { domain } = await api.domains.create({ domain: name.trim() })
            setOpen(false)
            setName('')
            list.reload()
            go(`/domains/${domain.id}`)
          }}
        >
          {(error) => (
            <TextInput
              label={t('Domain')}
              required
              autofocus
              placeholder="mail.example.com"
              value={name}
              onInput={setName}
              error={fieldError(error, 'domain')}
            />
          )}
        </FormDialog>
      )}
      {id && (
        <Details id={id} onChange={list.reload} onClose={() => go(`/domains${location.search}`)} />
      )}
    </>
  )
}

function Details({ id, onChange, onClose }: { id: string; onChange(): void; onClose(): void }) {
  const load = useLoad((signal) => api.domains.get(id, { signal }), [id])
  useEffect(() => {
    const timer = setTimeout(load.reload, RELOAD_MS)
    return () => clearTimeout(timer)
  }, [load.data])
  const found = load.data?.domain
  async function verify() {
    const checked = await api.domains.verify(id)
    load.set(checked)
    onChange()
    const isDone = checked.domain.status === 'verified'
    toast(
      isDone ? t('The domain is verified.') : t('Not all records are found yet.'),
      isDone ? 'good' : 'bad',
    )
  }
  async function rotate() {
    const isSure = await confirm({
      title: t('Make a new key?'),
      text: t(
        'A new record to publish appears. The old key signs until the new record is verified.',
      ),
      action: t('Make new key'),
    })
    if (!isSure) return
    load.set(await api.domains.rotate(id))
  }
  async function remove() {
    const isSure = await confirm({
      title: t('Remove {domain}?', { domain: found?.domain }),
      text: t('E-mails from its addresses are refused from now on.'),
      action: t('Remove domain'),
      danger: true,
    })
    if (!isSure) return
    await api.domains.delete(id)
    onChange()
    onClose()
  }
  return (
    <Drawer
      title={found?.domain ?? t('Domain')}
      onClose={onClose}
      actions={
        may('develop') && (
          <>
            {mayChange() && (
              <>
                <Button kind="danger" onClick={remove}>
                  {t('Remove')}
                </Button>
                {found?.status === 'verified' && <Button onClick={rotate}>{t('New key')}</Button>}
              </>
            )}
            <Button kind="primary" onClick={verify}>
              {t('Verify now')}
            </Button>
          </>
        )
      }
    >
      <Loaded of={load}>
        {({ domain }) => (
          <div class="stack">
            <Facts
              of={{
                [t('State')]: <Badge tone={TONES[domain.status]}>{wordOf(domain.status)}</Badge>,
                [t('Checked')]: domain.checked_at ? <Time at={domain.checked_at} /> : t('not yet'),
                [t('Last check')]: domain.check_error,
                [t('Accepted until')]: domain.accepted_until && exactTime(domain.accepted_until),
                [t('Former selector')]: domain.previous_selector,
              }}
            />
            <p>{t('Publish these records in the DNS of the domain.')}</p>
            {domain.records.map((record) => (
              <Record key={record.name + record.purpose} record={record} />
            ))}
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

function Record({
  record: { purpose, type, name, value, state, found, is_required },
}: {
  record: Domain['records'][number]
}) {
  return (
    <section class="card">
      <h2>
        {PURPOSES[purpose]} <Badge tone={RECORD_TONES[state]}>{wordOf(state)}</Badge>{' '}
        {!is_required && <Badge>{t('optional')}</Badge>}
      </h2>
      <Facts
        of={{
          [t('Type')]: type,
          [t('Name')]: <Copy value={name} label={t('Copy name')} />,
          [t('Value')]: <Copy value={value} label={t('Copy value')} />,
          [t('Found')]: found && <code>{found}</code>,
        }}
      />
    </section>
  )
}

export default { title: t('Sending domains'), Page: Domains }
