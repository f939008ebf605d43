import type { OperatorPurchase } from '../../../src/console-api/operator/answers.ts'
import {
  Button,
  Copy,
  Empty,
  Loaded,
  PageHead,
  Search,
  StatusBadge,
  Table,
  Time,
} from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { query, setQuery } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { useAct } from './acts.tsx'
import { send, usePolled } from './polled.ts'
import { WorkspaceLink } from './workspace-link.tsx'

/** Why a purchase is under review. */
const REASONS: Record<string, string> = {
  amount_mismatch: t('The payment has another amount.'),
  currency_mismatch: t('The payment is in another currency.'),
}

const reasonOf = ({ review_reason: one }: OperatorPurchase) => REASONS[one] ?? one

/** What an act found out about a purchase. */
function resultOf(one: OperatorPurchase): string {
  if (one.review_reason !== '') return t('Still under review: {one}', { one: reasonOf(one) })
  if (one.status === 'paid') {
    return t('The review ended: the purchase is paid, and its credits are booked.')
  }
  return t('The review ended: the purchase is {status}.', { status: wordOf(one.status) })
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
      title: t('{action}: purchase for {price}', { action, price }),
      action,
      text:
        verb === 'refund' &&
        (isReviewed
          ? t(
              'The payer gets the rest of the payment back. Credits that an operator granted for it stay.',
            )
          : t(
              'The payer gets the rest of the payment back, and the credits are taken; the balance may be below 0.',
            )),
      async run({ reason }) {
        const { purchase } = await send<{ purchase: OperatorPurchase }>(
          `/purchases/${id}/${verb}`,
          { workspace_id, reason },
        )
        load.reload()
        return isReviewed
          ? resultOf(purchase)
          : t('The purchase is {status}.', { status: wordOf(purchase.status) })
      },
    })
  }
  return (
    <>
      <PageHead
        title={t('Purchases')}
        text={t(
          'Without a search: those whose payment differs, so that no credits are granted. Refund them, or check them again after a change at the payment provider.',
        )}
      />
      <div class="filters">
        <Search
          placeholder={t('Id of a purchase or payment, or id, name or e-mail of a workspace')}
          value={search}
          onInput={(text) => setQuery({ search: text })}
        />
      </div>
      <Loaded of={load}>
        {({ purchases }) =>
          purchases.length === 0 ? (
            <Empty
              icon="credits"
              title={
                search ? t('No purchase has this id or workspace') : t('No purchase needs a review')
              }
            />
          ) : (
            <Table
              label={t('Purchases')}
              rows={purchases}
              keyOf={({ id }) => id}
              columns={[
                { name: t('Purchase'), kind: 'main', value: ({ id }) => <Copy value={id} /> },
                {
                  name: t('Workspace'),
                  value: (one) => <WorkspaceLink {...one} />,
                },
                { name: t('Status'), value: ({ status }) => <StatusBadge status={status} /> },
                { name: t('Price'), value: ({ price }) => price },
                { name: t('Credits'), kind: 'number', value: ({ credits }) => number(credits) },
                { name: t('Reason'), kind: 'wide', value: reasonOf },
                { name: t('Created'), value: ({ created_at }) => <Time at={created_at} /> },
              ]}
              actions={(one) => (
                <>
                  <Button onClick={() => change(one, 'check', t('Check again'))}>
                    {t('Check again')}
                  </Button>
                  {(one.status === 'paid' || one.review_reason !== '') && (
                    <Button kind="danger" onClick={() => change(one, 'refund', t('Refund'))}>
                      {t('Refund')}
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

export default { title: t('Purchases'), Page: Purchases }
