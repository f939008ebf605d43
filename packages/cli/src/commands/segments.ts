import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { readStdinText } from '../input/read-input.ts'
import { charactersText, suggestionText } from '../show/text.ts'

/** The default price of a segment. Source: interface, Credit costs. */
const CREDITS_PER_SEGMENT = 1

/** The maximum length of a text in UTF-16 code units. Source: interface, Limits. */
const TEXT_LENGTH_MAX = 1600

/** Adds `svc segments`. */
export function addSegments(program: Command, context: Context): void {
  const command = program
    .command('segments')
    .summary('count the segments of an SMS')
    .description(
      `Shows the encoding of an SMS, its segments and cost, the characters that require UCS-2, and a cheaper text if there is
one. It contacts no server.`,
    )
    .argument('[text]', 'the text (default: stdin without its last line break)')
    .action((text: string | undefined) => countSegments(context, text))
  withExamples(command, 'svc segments "It’s ready…"', 'cat text.txt | svc segments --json')
}

async function countSegments({ io, output }: Context, argument: string | undefined): Promise<void> {
  const text = argument ?? (await readStdinText(io, 'give the text'))
  const sms = await import('@svc/core/sms')
  const { encoding, characters, units, segments, parts } = sms.segments(text)
  const credits = segments * CREDITS_PER_SEGMENT
  const non_gsm_characters = sms.nonGsmCharacters(text)
  const gsm7_suggestion = sms.gsm7Suggestion(text)
  if (output.isJson()) {
    return output.document({
      encoding,
      characters,
      units,
      segments,
      parts,
      credits,
      non_gsm_characters,
      gsm7_suggestion,
    })
  }
  const { single, concatenated } = sms.SEGMENT_UNITS[encoding]
  const room = segments === 1 ? single : segments * concatenated
  output.fields([
    ['encoding', encoding],
    ['characters', String(characters)],
    ['units', output.isTerminal ? `${units} of ${room}` : String(units)],
    ['segments', String(segments)],
    ['credits', String(credits)],
    ['forced by', non_gsm_characters.length === 0 ? null : charactersText(non_gsm_characters)],
    ['suggestion', gsm7_suggestion && suggestionText(gsm7_suggestion)],
  ])
  if (text.length > TEXT_LENGTH_MAX) {
    output.note(`The text is longer than ${TEXT_LENGTH_MAX} characters: svc send would refuse it.`)
  }
}
