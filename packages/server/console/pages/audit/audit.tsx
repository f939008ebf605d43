import type { AuditAction, AuditEntry } from '@svc/client'
import { type Column, Empty, ListPage, PageHead, Select, Time } from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import { filtersOf, setQuery } from '../../shell/router.ts'

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
      const { endDate, startDate, ...rest } = filter
      // The days of the browser, both included.
      const dates = {
        ...(startDate && { startDate: new Date(`${startDate}T00:00`) }),
        ...(endDate && { endDate: new Date(`${endDate}T23:59:59.999`) }),
      }
      return api.audit.list({ ...rest, ...dates, limit: 50 }, { signal })
    },
    [filter],
  )
  const members = useLoad((signal) => api.members.list({ signal }), [])
  const actorOf = ({ actor: { kind, id }, address }: AuditEntry) => {
    const people = members.data?.members
    const person = people?.find((one) =>
      id ? one.id === id : kind === 'session' && one.role === 'owner',
    )
    const name = person?.email ?? (kind === 'session' ? null : kind.replace('_', ' '))
    return (
      <div>
        {name ?? id ?? kind}
        <small class="line">{address}</small>
      </div>
    )
  }
  const columns: Column<AuditEntry>[] = [
    { name: 'Action', kind: 'main', value: ({ action }) => textOf(action) },
    { name: 'By', value: actorOf },
    {
      name: 'Details',
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
    { name: 'Time', value: ({ created_at }) => <Time at={created_at} exact /> },
  ]
  return (
    <>
      <PageHead title="Audit log" text="Who changed what, without contents and recipients." />
      <div class="filters">
        <Select
          bare
          label="Action"
          value={filter.action ?? ''}
          options={[['', 'All actions'], ...ACTIONS.map((one) => [one, textOf(one)] as const)]}
          onInput={(action) => setQuery({ action })}
        />
        {(['startDate', 'endDate'] as const).map((name) => (
          <input
            key={name}
            type="date"
            aria-label={name === 'startDate' ? 'From' : 'Until'}
            value={filter[name] ?? ''}
            onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
          />
        ))}
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.audit_entries}
        label="Audit log"
        columns={columns}
        keyOf={({ id }) => id}
        noun="change"
        empty={<Empty icon="audit" title="No entries in this selection" />}
      />
    </>
  )
}

export default { title: 'Audit log', Page: Audit }
