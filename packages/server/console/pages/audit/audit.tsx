import type { AuditAction, AuditEntry } from '@svc/client'
import {
  type Column,
  DayInput,
  Empty,
  ListPage,
  PageHead,
  Select,
  Time,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import { filtersOf, setQuery, timesOf } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'

/** The actions that change a workspace. */
const ACTIONS: readonly AuditAction[] = [
  'account.updated',
  'api_key.created',
  'api_key.deactivated',
  'credentials.revoked',
  'credits.adjusted',
  'credits.granted',
  'domain.added',
  'domain.failed',
  'domain.failing',
  'domain.removed',
  'domain.rotated',
  'domain.rotation_started',
  'domain.verified',
  'email.verified',
  'invitation.created',
  'invitation.withdrawn',
  'member.added',
  'member.changed',
  'member.removed',
  'member.renamed',
  'message.erased',
  'message.redacted',
  'owner.changed',
  'password.changed',
  'password.reset',
  'purchase.checked',
  'purchase.refunded',
  'recipient.erased',
  'session.created',
  'session.ended',
  'session.refused',
  'sessions.ended',
  'terms.updated',
  'verification.allowed',
  'webhook.created',
  'webhook.deleted',
  'webhook.enabled',
  'webhook.recovered',
  'webhook.secret_rotated',
  'webhook.updated',
  'workspace.created',
  'workspace.frozen',
  'workspace.unfrozen',
]

const textOf = (action: string) => action.replace(/[._]/g, ' ')

function Audit() {
  const filter = filtersOf('action', 'startDate', 'endDate', 'after')
  const list = useLoad(
    (signal) => {
      const { endDate: _, startDate: __, ...rest } = filter
      return api.audit.list({ ...rest, ...timesOf(filter), limit: 50 }, { signal })
    },
    [filter],
  )
  const members = useLoad((signal) => api.members.list({ signal }), [])
  const keys = useLoad((signal) => api.apiKeys.list({ limit: 100 }, { signal }), [])
  const actorOf = ({ action, actor: { kind, id }, address }: AuditEntry) => {
    const people = members.data?.members
    // Earlier versions recorded a sign-in as the act of a client.
    const isOwner = !id && (kind === 'session' || action === 'session.created')
    const person = people?.find((one) => (id ? one.id === id : isOwner && one.role === 'owner'))
    const key = keys.data?.api_keys.find((one) => one.id === id)
    const name = person?.email ?? (key && t('API key {name}', { name: key.name }))
    return (
      <div>
        {name ?? (kind === 'operator' ? t('operator') : (id ?? kind.replace('_', ' ')))}
        <small class="line">{address}</small>
      </div>
    )
  }
  const columns: Column<AuditEntry>[] = [
    { name: t('Action'), kind: 'main', value: ({ action }) => textOf(action) },
    { name: t('By'), value: actorOf },
    {
      name: t('Details'),
      value: ({ details, target }) => (
        <small>
          {Object.entries(details).map(([name, value]) => (
            <span key={name} class="line">
              {textOf(name)}: {Array.isArray(value) ? value.join(', ') : String(value)}
            </span>
          ))}
          {target && `${textOf(target.type)} ${target.id}`}
        </small>
      ),
    },
    { name: t('Time'), value: ({ created_at }) => <Time at={created_at} exact /> },
  ]
  return (
    <>
      <PageHead
        title={t('Audit log')}
        text={t('Who changed what, without contents and recipients.')}
      />
      <div class="filters">
        <Select
          bare
          label={t('Action')}
          value={filter.action ?? ''}
          options={[['', t('All actions')], ...ACTIONS.map((one) => [one, textOf(one)] as const)]}
          onInput={(action) => setQuery({ action })}
        />
        {(['startDate', 'endDate'] as const).map((name) => (
          <DayInput
            key={name}
            label={name === 'startDate' ? t('From') : t('Until')}
            value={filter[name] ?? ''}
            onInput={(day) => setQuery({ [name]: day })}
          />
        ))}
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.audit_entries}
        label={t('Audit log')}
        columns={columns}
        keyOf={({ id }) => id}
        noun="change"
        empty={<Empty icon="audit" title={t('No entries in this selection')} />}
      />
    </>
  )
}

export default { title: t('Audit log'), Page: Audit }
