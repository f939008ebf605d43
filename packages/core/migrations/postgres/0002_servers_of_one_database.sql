CREATE TABLE "secrets" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ALTER COLUMN "scopes" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "api_keys" ALTER COLUMN "allowed_ips" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "messages" ALTER COLUMN "content" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "messages" ALTER COLUMN "metadata" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "webhooks" ALTER COLUMN "events" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "webhooks" ALTER COLUMN "headers" SET DATA TYPE json;--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
-- Counters may be forgotten in a crash of the database, and are not worth a flush.
CREATE UNLOGGED TABLE "rate_counters" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE INDEX "rate_counters_ends" ON "rate_counters" USING btree ("ends_at");
