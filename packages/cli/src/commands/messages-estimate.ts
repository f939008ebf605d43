import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { readSendRequest, type SendOptions, withRequest } from '../messages/send-request.ts'
import { charactersText, suggestionText } from '../show/sms-texts.ts'

/** Adds `svc messages estimate`. */
export function addEstimate(messages: Command, context: Context): void {
  const estimate = withConnection(
    withRequest(
      messages
        .command('estimate')
        .summary('show what a message would cost')
        .description(
          `Takes the options of svc send and sends nothing. Shows the cost of the message and whether it would be sent. For an SMS it
shows the encoding, the segments, the characters that require UCS-2, and a cheaper text if there is one.`,
        ),
    ),
  ).action((options: ConnectionOptions & SendOptions) => estimateMessage(context, options))
  withExamples(
    estimate,
    'svc messages estimate --to +15005550006 --text "It’s ready…"',
    'cat text.txt | svc messages estimate --to +15005550006 --text - --json',
  )
}

async function estimateMessage(
  { io, output }: Context,
  options: ConnectionOptions & SendOptions,
): Promise<void> {
  const request = await readSendRequest(options, io)
  const { client } = await connect(options, io)
  const found = await client.messages.estimate(request)
  if (output.isJson()) return output.document(found)
  for (const message of found.messages) {
    const { encoding, characters, units, segments, non_gsm_characters, gsm7_suggestion } = message
    output.fields([
      ['encoding', encoding],
      ['characters', characters?.toString() ?? null],
      ['units', units?.toString() ?? null],
      ['segments', segments?.toString() ?? null],
      ['credits', String(message.credits)],
      ['balance', String(found.credits_balance)],
      ['forced by', non_gsm_characters.length === 0 ? null : charactersText(non_gsm_characters)],
      ['suggestion', gsm7_suggestion && suggestionText(gsm7_suggestion)],
      ['blocked', message.block_reason && { text: message.block_reason, style: 'red' }],
    ])
  }
  if (!found.can_send) output.note('It would not be sent.')
}
