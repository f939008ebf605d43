import type {
  OperatorAuditEntry,
  OperatorWorkspace,
  PausedCountry,
} from '../../../src/console-api/operator/answers.ts'
import { Button, Copy, Drawer, Facts, LinkButton, Loaded, Money } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { randomHex } from '../../shell/random.ts'
import { go } from '../../shell/router.ts'
import { PausedCountries } from '../verifications/paused.tsx'
import { useAct } from './acts.tsx'
import { AuditList } from './audit.tsx'
import { send } from './polled.ts'

export function OneWorkspace({ id, onChange }: { id: string; onChange(): void }) {
  const load = useLoad(
    (signal) =>
      ownApi.get<{
        workspace: OperatorWorkspace
        paused_countries: PausedCountry[]
        audit: OperatorAuditEntry[]
      }>(`/operator/workspaces/${id}`, {}, signal),
    [id],
  )
  const { act, dialog } = useAct()
  const change =
    (verb: string, result: string, body: (values: Record<string, string>) => object = () => ({})) =>
    async (values: Record<string, string>) => {
      await send(`/workspaces/${id}/${verb}`, { reason: values.reason, ...body(values) })
      load.reload()
      onChange()
      return result
    }
  return (
    <Drawer
      title={load.data?.workspace.name ?? 'Workspace'}
      onClose={() => go(`/operator/workspaces${location.search}`)}
    >
      <Loaded of={load}>
        {({ workspace: one, paused_countries, audit }) => (
          <div class="stack">
            <Facts
              of={{
                Id: <Copy value={id} />,
                'E-mail': one.email,
                Status: one.frozen_reason ? `frozen: ${one.frozen_reason}` : one.status,
                Available: <Money credits={one.available} />,
                Held: <Money credits={one.held} />,
                'Spent today': <Money credits={one.spent_today} />,
                'Daily limit':
                  one.daily_limit === null ? 'none' : <Money credits={one.daily_limit} />,
                'Credit limit': <Money credits={one.credit_limit} />,
              }}
            />
            <div class="actions">
              <Button
                kind="primary"
                onClick={() => {
                  // One id a form: a repeated click grants once.
                  const grant = uuid()
                  act({
                    title: `Grant credits to ${one.name}`,
                    action: 'Grant credits',
                    fields: [['credits', 'Credits']],
                    run: change('grant', `${one.name} has the credits`, ({ credits }) => ({
                      credits: Number(credits || Number.NaN),
                      id: grant,
                    })),
                  })
                }}
              >
                Grant credits
              </Button>
              <Button
                onClick={() =>
                  act({
                    title: `Limits of ${one.name}`,
                    action: 'Set limits',
                    fields: [
                      ['daily_limit', 'Daily limit in credits', 'Empty: none'],
                      [
                        'credit_limit',
                        'Credit limit in credits',
                        'How far below 0 the balance may go',
                      ],
                    ],
                    start: {
                      daily_limit: `${one.daily_limit ?? ''}`,
                      credit_limit: `${one.credit_limit}`,
                    },
                    run: change(
                      'terms',
                      `${one.name} has the limits`,
                      ({ daily_limit, credit_limit }) => ({
                        daily_limit: daily_limit ? Number(daily_limit) : null,
                        credit_limit: Number(credit_limit),
                      }),
                    ),
                  })
                }
              >
                Limits
              </Button>
              {one.status === 'frozen' ? (
                <Button
                  onClick={() =>
                    act({
                      title: `Unfreeze ${one.name}`,
                      action: 'Unfreeze',
                      run: change('unfreeze', `${one.name} may spend again`),
                    })
                  }
                >
                  Unfreeze
                </Button>
              ) : (
                <Button
                  kind="danger"
                  onClick={() =>
                    act({
                      title: `Freeze ${one.name}`,
                      action: 'Freeze',
                      text: 'It spends nothing from its next request on. Accepted messages are still sent.',
                      run: change('freeze', `${one.name} is frozen`),
                    })
                  }
                >
                  Freeze
                </Button>
              )}
            </div>
            <PausedCountries paused={paused_countries} workspaceId={id} onChange={load.reload} />
            <AuditList entries={audit} />
            <div class="actions">
              <LinkButton to={`/operator/audit?workspace_id=${id}`}>Whole audit log</LinkButton>
              <LinkButton to={`/operator/purchases?search=${id}`}>Purchases</LinkButton>
            </div>
          </div>
        )}
      </Loaded>
      {dialog}
    </Drawer>
  )
}

/** A random UUID of version 4. */
function uuid(): string {
  return randomHex().replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-')
}
