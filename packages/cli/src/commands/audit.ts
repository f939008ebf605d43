import type { OperatorAuditEntry } from '@svc/core/operate'
import type { Command } from 'commander'
import { onOneOrAll } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { readOptionalPast } from '../input/time.ts'
import { listing, type PageOptions, readPage, withPage } from '../show/listing.ts'
import { printable } from '../show/text.ts'

interface AuditOptions extends PageOptions {
  workspace?: string
  action?: string
  since?: string
  until?: string
}

/** Adds `svc audit`. */
export function addAudit(program: Command, context: Context): void {
  const audit = withPage(
    program
      .command('audit')
      .summary('show the audit log, newest first')
      .description(
        `Shows changes with their actors and IP addresses, newest first: logins, passwords, API keys, webhooks, grants,
limits, freezes, pauses, erasures, and settings that differ from those of the last start. The transaction of a change
also writes its entry. Entries never contain message contents, recipients or secrets.`,
      )
      .option(
        '--workspace <id-or-email>',
        'only this workspace (default: all workspaces and the service)',
      )
      .option('--action <action>', 'only this action, such as api_key.created')
      .option(
        '--since <time>',
        'entries at or after: ISO 8601, or a duration before now such as 2h',
      )
      .option('--until <time>', 'entries at or before, in the same form'),
  ).action((options: AuditOptions) => showAudit(context, options))
  withExamples(
    audit,
    'svc audit --since 24h',
    'svc audit --workspace ops@example.com --action api_key.created',
    'svc audit --since 7d --json | jq -r ".audit_entries[].address"',
  )
}

async function showAudit({ io, output }: Context, options: AuditOptions): Promise<void> {
  const { api, auditEntry, decode } = await import('@svc/core/contract')
  const since = await readOptionalPast('--since', options.since)
  const until = await readOptionalPast('--until', options.until)
  const { page, limit, action, startDate, endDate } = decode(api.audit.list.query, {
    page: options.page,
    limit: options.limit,
    action: options.action,
    startDate: since?.toISOString(),
    endDate: until?.toISOString(),
  })
  const { shown, paging } = await readPage({ page, limit }, (slice) =>
    onOneOrAll(io, options.workspace, (core, workspace) => {
      const filter = { workspace_id: workspace?.id, action, from: startDate, until: endDate }
      return core.audit.ofAll(filter, slice)
    }),
  )
  listing(output, {
    json: () => ({
      audit_entries: shown.map(({ workspace_id, ...entry }) => ({
        workspace_id,
        ...auditEntry.encode(entry),
      })),
    }),
    headings: ['TIME', 'WORKSPACE', 'ACTION', 'ACTOR', 'ADDRESS', 'TARGET', 'DETAILS'],
    rows: shown.map((entry) => [
      entry.created_at.toISOString(),
      entry.workspace_id ?? '-',
      entry.action,
      actorText(entry),
      entry.address ?? '-',
      entry.target ? printable(`${entry.target.type} ${entry.target.id}`) : '-',
      printable(detailsText(entry)),
    ]),
    none: 'No entries.',
    paging,
  })
}

function actorText({ actor: { kind, id, name } }: OperatorAuditEntry): string {
  const shown = name ?? id
  return shown === null ? kind : printable(`${kind} ${shown}`)
}

function detailsText({ details }: OperatorAuditEntry): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : String(value)}`)
    .join(' ')
}
