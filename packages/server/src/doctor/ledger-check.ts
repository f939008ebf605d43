import { type Finding, findingsOf, reasonOf } from './finding.ts'

/** Checks that the ledger is consistent. `apart`: reads it in a thread. */
export async function checkLedger(
  url: string,
  { thorough, apart = false }: { thorough: boolean; apart?: boolean },
): Promise<Finding[]> {
  const is = findingsOf('ledger')
  const { countedText, verifyLedger, verifyLedgerApart } = await import('@svc/core/operate')
  const verify = apart ? verifyLedgerApart : verifyLedger
  try {
    const { ok, entries, workspaces, differences, has_more } = await verify(url, {
      fast: !thorough,
    })
    if (ok) {
      return [
        is.ok(
          `consistent: ${countedText(entries, 'entry', 'entries')} of ${countedText(workspaces, 'workspace')}`,
        ),
      ]
    }
    const [first] = differences
    const number = `${has_more ? 'more than ' : ''}${differences.length}`
    return [
      is.error(
        `inconsistent: ${number} ${differences.length === 1 ? 'difference' : 'differences'}, the first in workspace ${first?.workspace_id} (${first?.check})`,
        'svc ledger verify lists them; change nothing by hand, and see docs/operating/ledger.md',
      ),
    ]
  } catch (error) {
    return [is.error(reasonOf(error), 'svc ledger verify')]
  }
}
