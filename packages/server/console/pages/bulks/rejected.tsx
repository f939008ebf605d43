import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'
import { Button, Loaded } from '../../parts/index.ts'
import { api, inWords } from '../../shell/api.ts'
import { number } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'

const SHOWN = 5

/** The first rejected recipients of a bulk, and all of them as a file. `count`: their number. */
export function Rejected({ bulkId, count }: { bulkId: string; count: number }) {
  const load = useLoad(
    (signal) => api.bulks.rejected(bulkId, { limit: SHOWN }, { signal }),
    [bulkId],
  )
  return (
    <Loaded of={load}>
      {({ rejected, is_stored }) =>
        is_stored ? (
          <>
            {rejected.map(({ index, to, message }) => (
              <div key={index}>
                Recipient {index + 1}: {to} <small>{inWords(message)}</small>
              </div>
            ))}
            {count > SHOWN && <p>and {number(count - SHOWN)} more</p>}
            <Button icon="download" onClick={() => save(bulkId)}>
              Download as CSV
            </Button>
          </>
        ) : (
          <small>
            Only their number is stored: an earlier version accepted this bulk, or they were erased
            after the retention time.
          </small>
        )
      }
    </Loaded>
  )
}

async function save(bulkId: string): Promise<void> {
  const rows: (string | number | null)[][] = [['number', 'to', 'error', 'message']]
  for await (const { index, to, error, message } of api.bulks.rejected(bulkId, { limit: 100 })) {
    rows.push([index + 1, to, error, message])
  }
  download(`rejected-${bulkId}.csv`, csvText(rows))
}
