/** What can be bought from `svc dev` where no packages are set: the form of `SVC_CREDIT_PACKAGES`. */
export const DEMO_PACKAGES = JSON.stringify([
  {
    id: 'starter',
    name: 'Starter',
    description: 'To try it out',
    credits: 1_000,
    price: { amount: 1_000, currency: 'USD' },
  },
  {
    id: 'growth',
    name: 'Growth',
    description: 'For regular sending',
    credits: 10_000,
    bonus_credits: 500,
    price: { amount: 9_500, currency: 'USD' },
  },
  {
    id: 'scale',
    name: 'Scale',
    description: 'For campaigns',
    credits: 100_000,
    bonus_credits: 10_000,
    price: { amount: 90_000, currency: 'USD' },
  },
])
