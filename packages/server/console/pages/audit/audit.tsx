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
import { actorName } from '../../shell/words.ts'

/** The actions that change a workspace. */
const ACTIONS: Partial<Record<AuditAction, string>> = {
  'account.updated': t('account updated'),
  'api_key.created': t('API key created'),
  'api_key.deactivated': t('API key deactivated'),
  'credentials.revoked': t('credentials revoked'),
  'credits.adjusted': t('credits adjusted'),
  'credits.granted': t('credits granted'),
  'domain.added': t('domain added'),
  'domain.failed': t('domain failed'),
  'domain.failing': t('domain failing'),
  'domain.removed': t('domain removed'),
  'domain.rotated': t('domain rotated'),
  'domain.rotation_started': t('domain rotation started'),
  'domain.verified': t('domain verified'),
  'email.verified': t('e-mail address verified'),
  'invitation.created': t('invitation created'),
  'invitation.withdrawn': t('invitation withdrawn'),
  'member.added': t('member added'),
  'member.changed': t('member changed'),
  'member.removed': t('member removed'),
  'member.renamed': t('member renamed'),
  'message.erased': t('message erased'),
  'message.redacted': t('message redacted'),
  'owner.changed': t('owner changed'),
  'password.changed': t('password changed'),
  'password.reset': t('password reset'),
  'purchase.checked': t('purchase checked'),
  'purchase.refunded': t('purchase refunded'),
  'recipient.erased': t('recipient erased'),
  'session.created': t('session created'),
  'session.ended': t('session ended'),
  'session.refused': t('session refused'),
  'sessions.ended': t('sessions ended'),
  'terms.updated': t('terms updated'),
  'verification.allowed': t('verification allowed'),
  'webhook.created': t('webhook created'),
  'webhook.deleted': t('webhook deleted'),
  'webhook.enabled': t('webhook enabled'),
  'webhook.recovered': t('webhook recovered'),
  'webhook.secret_rotated': t('webhook secret rotated'),
  'webhook.updated': t('webhook updated'),
  'workspace.created': t('workspace created'),
  'workspace.frozen': t('workspace frozen'),
  'workspace.unfrozen': t('workspace unfrozen'),
}

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
  const columns: Column<AuditEntry>[] = [
    { name: t('Action'), kind: 'main', value: ({ action }) => ACTIONS[action] ?? textOf(action) },
    {
      name: t('By'),
      value: ({ actor, address }) => (
        <div>
          {actorName(actor)}
          <small class="line">{address}</small>
        </div>
      ),
    },
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
          options={[['', t('All actions')], ...Object.entries(ACTIONS)]}
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
