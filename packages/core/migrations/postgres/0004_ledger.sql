CREATE TABLE "credit_holds" (
	"workspace_id" text NOT NULL,
	"id" text NOT NULL,
	"message_id" text NOT NULL,
	"n" integer NOT NULL,
	"amount" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_holds_workspace_id_id_pk" PRIMARY KEY("workspace_id","id")
);
--> statement-breakpoint
CREATE TABLE "credit_lots" (
	"workspace_id" text NOT NULL,
	"id" text NOT NULL,
	"amount" bigint NOT NULL,
	"remaining" bigint NOT NULL,
	"granted_seq" bigint NOT NULL,
	"counted_seq" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_lots_workspace_id_id_pk" PRIMARY KEY("workspace_id","id"),
	CONSTRAINT "credit_lots_remaining" CHECK ("credit_lots"."remaining" >= 0 and "credit_lots"."remaining" <= "credit_lots"."amount")
);
--> statement-breakpoint
ALTER TABLE "bulks" ADD COLUMN "retry_of" text;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "frozen_reason" text;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "daily_limit" bigint;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "spent_on" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "spent" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "low_balance" bigint;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "low_balance_default" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "low_state" text DEFAULT 'no' NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger_entries" ADD COLUMN "resolves" text;--> statement-breakpoint
ALTER TABLE "purchases" ADD COLUMN "payment_id" text;--> statement-breakpoint
ALTER TABLE "purchases" ADD COLUMN "review_reason" text;--> statement-breakpoint
CREATE UNIQUE INDEX "credit_holds_message" ON "credit_holds" USING btree ("workspace_id","message_id","n");--> statement-breakpoint
CREATE INDEX "credit_holds_expires" ON "credit_holds" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "credit_lots_expires" ON "credit_lots" USING btree ("expires_at") WHERE ended_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "bulks_retry_of" ON "bulks" USING btree ("workspace_id","retry_of") WHERE retry_of is not null;--> statement-breakpoint
CREATE INDEX "credit_accounts_low" ON "credit_accounts" USING btree ("workspace_id") WHERE low_state = 'due';--> statement-breakpoint
CREATE UNIQUE INDEX "ledger_entries_resolves" ON "ledger_entries" USING btree ("workspace_id","resolves") WHERE resolves is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "purchases_payment" ON "purchases" USING btree ("payment_id");--> statement-breakpoint
CREATE INDEX "purchases_created" ON "purchases" USING btree ("created_at");