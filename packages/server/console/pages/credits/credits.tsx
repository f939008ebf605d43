import type { CreditPackage, Transaction } from '@svc/client'
import { useEffect, useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  Dialog,
  Empty,
  ExportButton,
  FormDialog,
  Loaded,
  Money,
  PageHead,
  Pager,
  Select,
  StatusBadge,
  Table,
  TextInput,
  Time,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { credits, price } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { filtersOf, hrefOf, query, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { TYPES, WhyCredits } from './spending.tsx'
import { Statement } from './statement.tsx'

interface Purchase {
  id: string
  package_id: string
  status: string
  in_review: boolean
  credits: number
  amount: number
  currency: string
  checkout_url: string | null
  created_at: string
}

interface Spending {
  is_frozen: boolean
  spent_today: number
  daily_limit: number | null
}

const COLUMNS: readonly Column<Transaction>[] = [
  {
    name: t('Change'),
    kind: 'main',
    value: ({ type, description, reference }) => (
      <>
        {reference.type === 'message' && may('read') ? (
          <a href={hrefOf(`/messages/${reference.id}`)}>{TYPES[type] ?? type}</a>
        ) : reference.type === 'bulk' && may('read') ? (
          <a href={hrefOf(`/bulks/${reference.id}`)}>{t('Bulk')}</a>
        ) : (
          (TYPES[type] ?? type)
        )}
        {description && <small> {description}</small>}
      </>
    ),
  },
  { name: t('Time'), value: ({ created_at }) => <Time at={created_at} /> },
  { name: t('Credits'), kind: 'number', value: (one) => <Money credits={one.credits} signed /> },
  {
    name: t('Balance after'),
    kind: 'number',
    value: ({ balance_after }) => <Money credits={balance_after} />,
  },
]

/** The requests of the page must leave most of the workspace's rate limit to its programs. */
const RELOAD_EVERY_MS = 5_000

/** How often the page asks whether the payment provider has confirmed the payment. */
const PAYMENT_EVERY_MS = 3_000

const VIEWS = [
  ['', t('Balance')],
  ['why', t('Where credits went')],
  ['statement', t('Statement')],
] as const

function Credits({ params: { view = '' } }: PageProps) {
  return (
    <>
      <nav class="views" aria-label={t('Credits')}>
        {VIEWS.map(([id, name]) => (
          <a
            key={id}
            href={hrefOf(id ? `/credits/${id}` : '/credits')}
            aria-current={view === id ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      {view === 'why' ? <WhyCredits /> : view === 'statement' ? <Statement /> : <Balance />}
    </>
  )
}

function Balance() {
  const [open, setOpen] = useState<'buy' | 'limit' | null>(null)
  const isFunding = query.value.get('only') === 'funding'
  const after = query.value.get('after') ?? undefined
  const account = useLoad((signal) => api.workspaces.account({ signal }), [])
  const spending = useLoad((signal) => ownApi.get<Spending>('/spending', {}, signal), [])
  const purchases = useLoad(
    (signal) =>
      may('bill')
        ? ownApi.get<{ purchases: Purchase[] }>('/purchases', {}, signal)
        : Promise.resolve({ purchases: [] }),
    [],
  )
  const ledger = useLoad(
    (signal): PromiseLike<{ transactions: Transaction[]; next_after: string | null }> =>
      isFunding
        ? ownApi.get('/funding', { limit: '50', after }, signal)
        : api.billing.transactions({ limit: 50, ...(after && { after }) }, { signal }),
    [isFunding, after],
  )
  function reload() {
    account.reload()
    ledger.reload()
  }
  useLiveReload('message.', reload, { every_ms: RELOAD_EVERY_MS })
  const low = account.data?.low_balance
  return (
    <>
      <PageHead title={t('Credits')}>
        <ExportButton
          path="/v1/billing/transactions/export"
          query={filtersOf('only')}
          name="transactions"
        />
        {may('bill') && (
          <Button kind="primary" icon="plus" onClick={() => setOpen('buy')}>
            {t('Buy credits')}
          </Button>
        )}
      </PageHead>
      <div class="stack">
        {query.value.has('paid') && <Paid purchases={purchases} onPaid={reload} />}
        {spending.data?.is_frozen && (
          <p class="mode-note">
            {t('The account is frozen: no credits can be spent. Ask the operator.')}
          </p>
        )}
        <Loaded of={account}>
          {({ credits_balance, credits_held }) => (
            <section class="cards">
              <div class="card">
                <h2>{t('Balance')}</h2>
                <p class="figure">
                  <Money credits={credits_balance} />
                </p>
                {credits_held > 0 && (
                  <small>
                    {rich(
                      '{credits_held} are reserved for calls. A call is charged when it ends; without a report about it, its credits come back 28 hours after it was due.',
                      { credits_held: credits(credits_held) },
                    )}
                  </small>
                )}
              </div>
              <div class="card">
                <h2>{t('Spent today (UTC)')}</h2>
                <p class="figure">
                  {spending.data ? <Money credits={spending.data.spent_today} /> : '…'}
                </p>
                <small>
                  {t('Refunds are not subtracted.')}{' '}
                  {spending.data?.daily_limit == null
                    ? t('No daily limit.')
                    : t('At most {daily_limit} a day.', {
                        daily_limit: credits(spending.data.daily_limit),
                      })}
                </small>
              </div>
              <div class="card">
                <h2>{t('Low balance')}</h2>
                <p>
                  {low == null
                    ? t('The owner gets no warning.')
                    : t('The owner gets an e-mail below {low}.', { low: credits(low) })}
                </p>
                {may('bill') && (
                  <Button onClick={() => setOpen('limit')}>{t('Change the limit')}</Button>
                )}
              </div>
            </section>
          )}
        </Loaded>
        {purchases.data && purchases.data.purchases.length > 0 && (
          <section>
            <h2 class="section">{t('Purchases')}</h2>
            <Table
              label={t('Purchases')}
              columns={PURCHASES}
              rows={purchases.data.purchases}
              keyOf={({ id }) => id}
            />
          </section>
        )}
        <section>
          <div class="filters">
            <h2 class="section">{t('Changes of the balance')}</h2>
            <Select
              bare
              label={t('Changes')}
              value={isFunding ? 'funding' : ''}
              options={[
                ['', t('All changes')],
                ['funding', t('Without messages')],
              ]}
              onInput={(only) => setQuery({ only })}
            />
          </div>
          <Loaded of={ledger}>
            {({ transactions, next_after }) =>
              transactions.length === 0 ? (
                <Empty icon="credits" title={t('No changes of the balance yet')} />
              ) : (
                <>
                  <Table
                    label={t('Changes of the balance')}
                    columns={COLUMNS}
                    rows={transactions}
                    keyOf={({ id }) => id}
                  />
                  <Pager next={next_after} noun="change" />
                </>
              )
            }
          </Loaded>
        </section>
      </div>
      {open === 'buy' && <Buy onClose={() => setOpen(null)} />}
      {open === 'limit' && (
        <Limit value={low ?? null} onClose={() => setOpen(null)} onChange={account.reload} />
      )}
    </>
  )
}

const PURCHASES: readonly Column<Purchase>[] = [
  { name: t('Package'), kind: 'main', value: ({ package_id }) => package_id },
  { name: t('Credits'), kind: 'number', value: (one) => <Money credits={one.credits} /> },
  { name: t('Price'), kind: 'number', value: ({ amount, currency }) => price(amount, currency) },
  {
    name: t('Status'),
    value: ({ status, in_review, checkout_url }) => (
      <>
        {in_review ? <Badge tone="warn">{t('in review')}</Badge> : <StatusBadge status={status} />}{' '}
        {checkout_url && <a href={checkout_url}>{t('Pay')}</a>}
      </>
    ),
  },
  { name: t('Time'), value: ({ created_at }) => <Time at={created_at} /> },
]

/** The result of a payment, which the payment provider may confirm after the person is back. */
function Paid({
  purchases,
  onPaid,
}: {
  purchases: Load<{ purchases: Purchase[] }>
  onPaid(): void
}) {
  const newest = purchases.data?.purchases[0]
  const isPending = newest?.status === 'pending'
  useEffect(() => {
    if (!isPending) return onPaid()
    const timer = setInterval(purchases.reload, PAYMENT_EVERY_MS)
    return () => clearInterval(timer)
  }, [isPending])
  if (!newest) return null
  return (
    <p class={isPending ? 'mode-note' : 'mode-note good'} role="status">
      {isPending
        ? t('The credits are added when the payment provider confirms the payment.')
        : newest.status === 'paid'
          ? t('Thank you: {credits} were added.', { credits: credits(newest.credits) })
          : t('The purchase is {status}.', { status: wordOf(newest.status) })}
    </p>
  )
}

function Buy({ onClose }: { onClose(): void }) {
  const load = useLoad((signal) => api.billing.packages({ signal }), [])
  async function buy({ id }: CreditPackage) {
    const page = location.origin + hrefOf('/credits')
    const { checkout_url } = await api.billing.checkout({
      package_id: id,
      success_url: `${page}?paid=1`,
      cancel_url: page,
    })
    location.assign(checkout_url)
  }
  return (
    <Dialog title={t('Buy credits')} onClose={onClose}>
      <Loaded of={load}>
        {({ packages }) =>
          packages.length === 0 ? (
            <p>{t('No packages are for sale here. Ask the operator for credits.')}</p>
          ) : (
            <ul class="stack">
              <li class="small">{t('You pay on the next page.')}</li>
              {packages.map((one) => (
                <li key={one.id} class="package">
                  <div>
                    <h3>{one.name}</h3>
                    <p class="small">
                      {one.bonus_credits > 0
                        ? t('{credits} and {bonus} as a bonus', {
                            credits: credits(one.credits),
                            bonus: credits(one.bonus_credits),
                          })
                        : credits(one.credits)}
                      {one.description && `. ${one.description}`}
                    </p>
                  </div>
                  <Button kind="primary" onClick={() => buy(one)}>
                    {price(one.price.amount, one.price.currency)}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Dialog>
  )
}

function Limit({
  value,
  onClose,
  onChange,
}: {
  value: number | null
  onClose(): void
  onChange(): void
}) {
  const [limit, setLimit] = useState(value === null ? '' : String(value))
  return (
    <FormDialog
      title={t('Warning of a low balance')}
      action={t('Save')}
      onClose={onClose}
      onSubmit={async () => {
        await api.workspaces.updateAccount({ low_balance: limit === '' ? null : Number(limit) })
        onChange()
        onClose()
      }}
    >
      {(error) => (
        <TextInput
          label={t('Credits')}
          type="number"
          min="0"
          step="any"
          autofocus
          hint={t(
            'Below this balance the owner gets an e-mail, and webhooks get credits.low. Empty: no warning.',
          )}
          error={fieldError(error, 'low_balance')}
          value={limit}
          onInput={setLimit}
        />
      )}
    </FormDialog>
  )
}

export default { title: t('Credits'), Page: Credits }
