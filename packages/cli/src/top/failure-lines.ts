import type { Troubles } from '@svc/core/operate'
import { agoText } from '@svc/core/operate'
import type { Style } from '../show/style.ts'
import { column, cut, printable } from '../show/text.ts'

/** A failed message of a reading. */
export type FailedMessage = Troubles['failures'][number]

const MARK = '› '
const AGO_COLUMNS = 8
const CHANNEL_COLUMNS = 10
const ID_COLUMNS = 38
const PROVIDER_COLUMNS = 14

/** Whether a failure contains a text in its recipient, channel, code, message, provider, workspace or id. */
export function hasText(failure: FailedMessage, text: string): boolean {
  const needle = text.toLowerCase()
  const { recipient, channel, error_code, error_message, provider, workspace_id, id } = failure
  const parts = [recipient, channel, error_code, error_message, provider, workspace_id, id]
  return parts.some((part) => part?.toLowerCase().includes(needle))
}

/** The headings of the failures; wider terminals show more columns. */
export function failureHeading(columns: number): string {
  return cut(row(MARK.replace('›', ' '), HEADINGS, columns), columns)
}

/** A failure in one line of at most `columns` columns. */
export function failureLine(
  failure: FailedMessage,
  {
    isSelected,
    columns,
    now,
    style,
  }: { isSelected: boolean; columns: number; now: Date; style: Style },
): string {
  const { failed_at, created_at, channel, recipient, error_code, error_message } = failure
  const texts = {
    ago: agoText(failed_at ?? created_at, now),
    channel,
    recipient: printable(recipient),
    code: printable(error_code ?? ''),
    provider: printable(failure.provider ?? '-'),
    workspace: printable(failure.workspace_id),
    message: printable(error_message ?? ''),
  }
  const line = cut(row(isSelected ? MARK : '  ', texts, columns), columns)
  return isSelected ? style('bold', line) : line
}

type Texts = Record<
  'ago' | 'channel' | 'recipient' | 'code' | 'provider' | 'workspace' | 'message',
  string
>

const HEADINGS: Texts = {
  ago: 'AGO',
  channel: 'CHANNEL',
  recipient: 'RECIPIENT',
  code: 'ERROR',
  provider: 'PROVIDER',
  workspace: 'WORKSPACE',
  message: 'MESSAGE',
}

function row(mark: string, texts: Texts, columns: number): string {
  const { ago, channel, recipient, code, provider, workspace, message } = texts
  const isWide = columns >= 150
  const parts = [
    column(ago, AGO_COLUMNS),
    column(channel, CHANNEL_COLUMNS),
    `${column(recipient, isWide ? 27 : 19)} `,
    `${column(code, isWide ? 23 : 19)} `,
    isWide ? `${column(provider, PROVIDER_COLUMNS)} ${column(workspace, ID_COLUMNS)}` : '',
    message,
  ]
  return mark + parts.join('')
}
