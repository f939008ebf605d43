import type { OperatorPurchase } from '../../../src/console-api/operator/answers.ts'
import {
  Button,
  Copy,
  Empty,
  LinkButton,
  Loaded,
  PageHead,
  Search,
  StatusBadge,
  Table,
  Time,
} from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { query, setQuery } from '../../shell/router.ts'
import { useAct } from './acts.tsx'
import { send, usePolled } from './polled.ts'

/** Why a purchase is under review. */
const REASONS: Record<string, string> = {
  amount_mismatch: 'The payment has another amount.',
  currency_mismatch: 'The payment is in another currency.',
}

const reasonOf = ({ review_reason: one }: OperatorPurchase) => REASONS[one] ?? one

/** What an act found out about a purchase. */
function resultOf(one: OperatorPurchase): string {
  if (one.review_reason !== '') return `Still under review: ${reasonOf(one)}`
  if (one.status === 'paid') {
    return 'The review ended: the purchase is paid, and its credits are booked.'
  }
  return `The review ended: the purchase is ${one.status}.`
}

function Purchases() {
  const search = query.value.get('search') ?? ''
  const load = usePolled<{ purchases: OperatorPurchase[] }>(
    `/purchases?search=${encodeURIComponent(search)}`,
  )
  const { act, dialog } = useAct()
  const change = (one: OperatorPurchase, verb: string, action: string) => {
    const { id, workspace_id, price } = one
    const isReviewed = one.review_reason !== ''
    act({
      title: `${action}: purchase for ${price}`,
      action,
      text:
        verb === 'refund' &&
        (isReviewed
          ? 'The payer gets the rest of the payment back. Credits that an operator granted for it stay.'
          : 'The payer gets the rest of the payment back, and the credits are taken; the balance may be below 0.'),
      async run({ reason }) {
        const { purchase } = await send<{ purchase: OperatorPurchase }>(
          `/purchases/${id}/${verb}`,
          { workspace_id, reason },
        )
        load.reload()
        return isReviewed ? resultOf(purchase) : `The purchase is ${purchase.status}.`
      },
    })
  }
  return (
    <>
      <PageHead
        title="Purchases"
        text="Without a search: those whose payment differs, so that no credits are granted. Refund them, or check them again after a change at the payment provider."
      />
      <div class="filters">
        <Search
          placeholder="Id of a purchase, payment or workspace, or e-mail of a workspace"
          value={search}
          onInput={(text) => setQuery({ search: text })}
        />
      </div>
      <Loaded of={load}>
        {({ purchases }) =>
          purchases.length === 0 ? (
            <Empty
              icon="credits"
              title={search ? 'No purchase has this id or workspace' : 'No purchase needs a review'}
            />
          ) : (
            <Table
              label="Purchases"
              rows={purchases}
              keyOf={({ id }) => id}
              columns={[
                { name: 'Purchase', kind: 'main', value: ({ id }) => <Copy value={id} /> },
                { name: 'Status', value: ({ status }) => <StatusBadge status={status} /> },
                { name: 'Price', value: ({ price }) => price },
                { name: 'Credits', kind: 'number', value: ({ credits }) => number(credits) },
                { name: 'Reason', kind: 'wide', value: reasonOf },
                { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
              ]}
              actions={(one) => (
                <>
                  <LinkButton to={`/operator/workspaces/${one.workspace_id}`}>Workspace</LinkButton>
                  <Button onClick={() => change(one, 'check', 'Check again')}>Check again</Button>
                  {(one.status === 'paid' || one.review_reason !== '') && (
                    <Button kind="danger" onClick={() => change(one, 'refund', 'Refund')}>
                      Refund
                    </Button>
                  )}
                </>
              )}
            />
          )
        }
      </Loaded>
      {dialog}
    </>
  )
}

export default { title: 'Purchases', Page: Purchases }
