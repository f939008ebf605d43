import { isRecord } from '../../contract/fields/fields.ts'
import type { Report } from '../../contract/outside/provider.ts'
import { receivedOf } from './received.ts'
import type { WhatsappCloudSettings } from './settings.ts'
import { statusReport } from './status.ts'

/** Meta sends up to a thousand updates in one call. */
const REPORTS_MAX = 10_000

interface Known {
  senders: WhatsappCloudSettings['senders']
  graph_url: string
}

/**
 * The reports of a notification, or the reason why it cannot be read. Ignores everything except messages of our own
 * numbers: one app may serve several services, and Meta adds new types of updates. Source: Meta, Cloud API, Webhooks.
 */
export function notificationReports(notification: unknown, known: Known): Report[] | string {
  if (!isRecord(notification) || !Array.isArray(notification.entry)) return 'the body has no entry'
  if (notification.object !== 'whatsapp_business_account') return []
  const reports: Report[] = []
  for (const value of messageValues(notification.entry)) {
    for (const report of valueReports(value, known)) {
      if (reports.length === REPORTS_MAX) return `the body has more than ${REPORTS_MAX} reports`
      reports.push(report)
    }
  }
  return reports
}

function* messageValues(entries: readonly unknown[]): Iterable<Record<string, unknown>> {
  for (const entry of records(entries)) {
    for (const { field, value } of records(entry.changes)) {
      if (field === 'messages' && isRecord(value)) yield value
    }
  }
}

function* valueReports(
  { metadata, statuses, messages }: Record<string, unknown>,
  { senders, graph_url }: Known,
): Iterable<Report> {
  const id = isRecord(metadata) ? metadata.phone_number_id : null
  const sender = senders.find(({ phone_number_id }) => phone_number_id === id)
  if (!sender) return
  for (const status of records(statuses)) {
    const report = statusReport(status)
    if (report) yield report
  }
  for (const message of records(messages)) {
    const received = receivedOf(message, { recipient: sender.number, graph_url })
    if (received) yield received
  }
}

/** The objects in a list; none if it is not a list. */
function records(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isRecord) : []
}
