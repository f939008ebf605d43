import { counted } from './counted.ts'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

/** Checks that the ledger is consistent. `apart`: reads it in a thread. */
export async function checkLedger(
  url: string,
  { thorough, apart = false }: { thorough: boolean; apart?: boolean },
): Promise<Finding[]> {
  const is = findingsOf('ledger')
  const { verifyLedger, verifyLedgerApart } = await import('@svc/core/operate')
  const verify = apart ? verifyLedgerApart : verifyLedger
  try {
    const { ok, entries, workspaces, differences, has_more } = await verify(url, {
      fast: !thorough,
    })
    if (ok) {
      return [
        is.ok(
          `consistent: ${counted(entries, 'entry', 'entries')} of ${counted(workspaces, 'workspace')}`,
        ),
      ]
    }
    const [first] = differences
    const number = `${has_more ? 'more than ' : ''}${counted(differences.length, 'difference')}`
    return [
      is.error(
        `inconsistent: ${number}, the first in workspace ${first?.workspace_id} (${first?.check})`,
        'svc ledger verify lists them; change nothing by hand, make a copy with svc backup, and report them',
      ),
    ]
  } catch (error) {
    return [is.error(reasonOf(error), 'svc ledger verify')]
  }
}
