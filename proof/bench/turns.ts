import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'

const RECIPIENTS = 1_000

/** Bulks by their name, with the length of each mail. */
const BULKS = { '60 KB': 60_000, '2 KB': 2_000 }

/**
 * The longest turn of the event loop, in milliseconds of CPU, while a bulk of 1,000 different mails is accepted, sent and
 * reported.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const { child, url, key } = await startService(stage, 'service', { dispatch: true })
    const longestTurn = async (length: number) => {
      await child.request('turn', null)
      const response = await fetch(`${url}/api/v1/messages/bulk`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
        body: bulkOf(length),
      })
      const text = await response.text()
      if (response.status !== 201) throw new Error(`answered ${response.status}: ${text}`)
      await child.request('idle', null)
      return (await child.request('turn', null)).max_ms
    }
    const figures: Figure[] = []
    for (const [name, length] of Object.entries(BULKS)) {
      await longestTurn(length)
      const turns: number[] = []
      for (let round = 0; round < (quick ? 3 : 9); round++) turns.push(await longestTurn(length))
      figures.push({
        name: `longest turn, bulk of 1,000 mails of ${name}`,
        value: median(turns),
        unit: 'ms',
        raw: `of CPU; rounds ${turns.map(count).join(' ')}`,
      })
    }
    return figures
  })
}

function bulkOf(length: number): string {
  return JSON.stringify({
    channel: 'email',
    content: { subject: 'News for {{name}}', html: `<p>${'a'.repeat(length)}{{name}}</p>` },
    recipients: Array.from({ length: RECIPIENTS }, (_, i) => ({
      to: `r${i}@example.com`,
      name: `N ${i}`,
    })),
  })
}
