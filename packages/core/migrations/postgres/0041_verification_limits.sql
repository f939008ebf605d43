CREATE TABLE "verification_spending" (
	"workspace_id" text PRIMARY KEY NOT NULL,
	"day" integer NOT NULL,
	"spent" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "verifications" ADD COLUMN "code_removed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "verification_daily_credits" bigint;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "verification_countries" json;--> statement-breakpoint
CREATE INDEX "verifications_code" ON "verifications" USING btree ("created_at") WHERE code_removed = false;